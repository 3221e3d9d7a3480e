find_process
inspect
report
