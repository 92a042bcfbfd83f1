/** The lines of a log of JSON that are about an event, but for when and in which words. */
export const loggedOf = (log: string, event: string): readonly Record<string, unknown>[] =>
  log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['event'] === event)
    .map(({ event: _event, level: _level, time: _time, msg: _msg, ...rest }) => rest);
