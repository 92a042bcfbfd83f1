import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { composed } from '../../domain/expressions/linear.js';

/** Who is signed in at a page, kept in this process: a restart signs everybody out. */
export interface BrowserSessions<Who> {
  of(request: FastifyRequest): { readonly id: string; readonly who: Who } | null;
  /** Sets the cookie; returns the session's id. */
  open(reply: FastifyReply, who: Who): string;
  /** Ends the session and takes the cookie back. */
  end(reply: FastifyReply, id: string): void;
}

const SESSION_MS = 8 * 3_600_000;
const SESSIONS = 1_000;

/** `cookie`: its name, made of letters and `_`. Pages on one host share their cookies, whatever their ports. */
export function createBrowserSessions<Who extends object>(cookie: string): BrowserSessions<Who> {
  const pattern = composed(`(?:^|; )${cookie}=([0-9a-f]{64})(?:;|$)`);
  const open = new LRUCache<string, Who>({ max: SESSIONS, ttl: SESSION_MS });
  const setCookie = (reply: FastifyReply, value: string, secs: number) =>
    void reply.header('Set-Cookie', `${cookie}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${secs}`);
  return {
    of(request) {
      const id = pattern.exec(request.headers.cookie ?? '')?.[1];
      const who = id === undefined ? undefined : open.get(id);
      return id !== undefined && who ? { id, who } : null;
    },
    open(reply, who) {
      const id = randomBytes(32).toString('hex');
      open.set(id, who);
      setCookie(reply, id, SESSION_MS / 1_000);
      return id;
    },
    end(reply, id) {
      open.delete(id);
      setCookie(reply, '', 0);
    },
  };
}
