/** The workflow's type. */
export const WARM_UP = 'warmUp';
