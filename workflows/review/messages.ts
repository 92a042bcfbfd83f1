/** The workflow's type. Under another name, open reviews would find no code to continue with. */
export const REVIEW = 'review';
