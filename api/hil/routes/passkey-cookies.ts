import type { FastifyRequest } from 'fastify';

export const CEREMONY_COOKIE = 'gate_hil_ceremony';
export const PASSKEY_SESSION_COOKIE = 'gate_hil_session';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';

export const cookie = (name: string, value: string, lifeMs: number): string =>
  `${name}=${value}; Max-Age=${lifeMs / 1000}; ${ATTRIBUTES}`;

/** The value of the request's cookie; `null` when there is none. */
export function cookieOf({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | null {
  const pair = headers.cookie?.split(';').find((each) => each.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1) ?? null;
}
