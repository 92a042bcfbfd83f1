import { z } from 'zod';

const uuid = z.uuid();

/** Whether a text is a UUID as Gate writes them, in lower case, and as its routes take them: a text that none of them takes names nothing. */
export const isUuid = (text: string): boolean => uuid.safeParse(text).success && text === text.toLowerCase();
