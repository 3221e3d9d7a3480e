/** Has changes of files follow each other: of two edits of one file that a model makes at once, none is lost. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Does something when all that was asked for before has been done. */
  next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
