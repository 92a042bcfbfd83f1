/** Longer than what a form asks for, and the page that answers it: behind that no answer comes any more. */
export const LONGEST_ANSWER_MS = 180_000;
