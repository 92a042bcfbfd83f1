import { z } from 'zod';

/** A value that JSON can hold (RFC 8259). Everything that is sent, stored or hashed is one of these. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const jsonValue: z.ZodType<Json> = z.lazy(() =>
  z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(jsonValue), z.record(z.string(), jsonValue)]),
);
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), jsonValue);
