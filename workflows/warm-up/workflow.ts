/**
 * Does nothing. A worker that has run it has loaded the workflow code and created its sandbox, which the first call would otherwise wait
 * for.
 */
export async function warmUp(): Promise<void> {}
