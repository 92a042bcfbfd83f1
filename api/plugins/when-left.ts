import type { FastifyReply } from 'fastify';

/** Tells that nobody reads an answer any more: at once where its reader left before, of which no event comes. */
export function whenLeft({ raw }: Pick<FastifyReply, 'raw'>, left: () => void): void {
  if (raw.destroyed) left();
  else raw.once('close', left);
}
