/**
 * So far the clocks of two processes of one Gate may be apart. What is of later than that was made while a clock was ahead, and is not believed. The
 * console and HIL go by the same number, so that HIL believes each session that the console lets in.
 */
export const CLOCKS_APART_MS = 60_000;
