export const MAIN_HELP = `\
Usage: sandpipe run [OPTIONS] [--] COMMAND [ARGS...]

Runs commands in sandboxes.

Commands:
  run            run a command; its exit code becomes sandpipe's own

Options:
  -h, --help     show this, or with a command what it takes
  -V, --version  show the version
`;

export const RUN_HELP = `\
Usage: sandpipe run [OPTIONS] [--] COMMAND [ARGS...]

Runs a command in a sandbox. Its output goes to stdout and stderr as it comes, and its exit code
becomes sandpipe's own. No shell comes between: for one, run \`sh -c SCRIPT\`.

Where it runs:
  --url URL          the agent's address [default: $SANDPIPE_URL, else an agent of its own on this
                     machine, in the current directory, that ends with it]
  --token-file FILE  the file with the agent's token [default: the token itself in $SANDPIPE_TOKEN]

How it runs:
  --cwd DIR          its working directory [default: the agent's workspace]
  --env NAME=VALUE   a variable added to the agent's environment; repeatable
  --user USER        the user to run as, user[:group], names or numbers
  -i, --interactive  pass stdin on, up to its end [default: the command's stdin is empty]
  -t, --tty          run it in a terminal of its own; -it for an interactive one

When it ends:
  --timeout SECONDS  stop it after so long
  --grace SECONDS    how long it may take to end when it is stopped [default: 10]

  Ctrl+C (with -it it goes to the command), SIGTERM, SIGHUP, SIGQUIT or a closed stdout stop the
  command: SIGTERM to all its processes, SIGKILL after the grace period or at a second signal.

Exit codes:
  the command's own  128 + N after death by signal N, 127 if there is no such command, 126 if it
                     can't be executed
  2                  the command line is wrong
  124                the timeout passed
  125                sandpipe itself failed; stderr says why
  130                stopped by a signal
  141                stdout or stderr was closed
`;
