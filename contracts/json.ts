import { z } from 'zod';

/** A value that JSON can hold (RFC 8259). Everything that is sent, stored or hashed is one of these. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const jsonValue: z.ZodType<Json> = z.lazy(() =>
  z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(jsonValue), z.record(z.string(), jsonValue)]),
);
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), jsonValue);
/**
 * An object that was JSON text a moment ago, so that its values are JSON whatever they are. To look at each of them takes a tenth of a second for a MiB, in
 * which nothing else runs: for what is read by the page and may be as large as a request.
 */
export const parsedObject = z.looseObject({}) as unknown as z.ZodType<JsonObject>;
