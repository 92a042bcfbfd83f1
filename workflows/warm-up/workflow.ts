/** Does nothing: a worker that has run it has read the workflow code and made its sandbox, which the first call would wait for. */
export async function warmUp(): Promise<void> {}
