/** Everybody whom tests let approve. */
export const APPROVERS: readonly string[] = ['ana', 'ben', 'cyd', 'cfo', 'dev'].map((name) => `operator:${name}`);
