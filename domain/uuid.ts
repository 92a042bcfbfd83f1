import { z } from 'zod';

const uuid = z.uuid();
const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the form of a UUID in lower case, of whatever version: what clients name calls by. */
export const hasUuidForm = (text: string): boolean => FORM.test(text);

/** Whether a text is a UUID as Gate writes them, in lower case, and as its routes take them: a text that none of them takes names nothing. */
export const isUuid = (text: string): boolean => uuid.safeParse(text).success && text === text.toLowerCase();
