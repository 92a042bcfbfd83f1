import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** The token of `Authorization: Bearer <token>`, in exactly this form; `null` for any other header, and without one. */
export const bearerOf = ({ headers: { authorization } }: Pick<FastifyRequest, 'headers'>): string | null =>
  /^Bearer (\S+)$/.exec(authorization ?? '')?.[1] ?? null;

export interface KnownToken<Value> {
  readonly digest: Buffer;
  readonly value: Value;
}

/** A token as it is compared, and whose it is. */
export const knownToken = <Value>(token: string, value: Value): KnownToken<Value> => ({
  digest: digestOf(token),
  value,
});

/** Whose token it is. Every entry is compared in constant time, so that the duration says nothing about length, prefix or place in the list. */
export function lookUpToken<Value>(known: readonly KnownToken<Value>[], offered: string): Value | null {
  const digest = digestOf(offered);
  let found: Value | null = null;
  for (const each of known) if (timingSafeEqual(each.digest, digest)) found = each.value;
  return found;
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
