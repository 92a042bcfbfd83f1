import { defineUpdate } from '@temporalio/workflow';

/** The type of the bare workflow. */
export const BARE = 'bare';

export const answerUpdate = defineUpdate<string>('answer');
