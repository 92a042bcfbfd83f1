import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { Person, Shown } from '../../../console/visit.js';
import type { SignedIn } from '../../../adapters/console/session-store.js';
import type { Opened } from '../../../adapters/console/signed-in.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { ReadinessChecks } from '../../plugins/health.js';

/** Headers that prove a person to the review service. No other service gets them. */
export type ReviewProof = Readonly<Record<string, string>>;

/** What nobody else can show: the fingerprint of a certificate whose key was proved. `null`: nothing. */
export type ProvedBy = { readonly certificate: string } | null;

/** What every way to sign in is given. */
export interface Door {
  readonly nowMs: () => number;
  /** Throws `csrf_failed` for a part of another site's page. */
  readonly assertOwnAttempt: (request: FastifyRequest) => void;
  /** Whether a page of another site leads here: who followed it may not have meant to come. */
  readonly isFromElsewhere: (request: FastifyRequest) => boolean;
  /**
   * Throws `rate_limited` for an address of which too many attempts failed, and `csrf_failed` for a part of another site's page. Asked
   * before a password is compared or a provider's answer is read. What nobody guesses (an operator's token, a link) is looked at first,
   * so that whoever shares the address keeps nobody from signing in by it. `by` is what the attempt was proved to come from, and counts in the
   * place of the address.
   */
  readonly throttle: (request: FastifyRequest, by?: ProvedBy) => void;
  /** Opens a session, and says so to the browser. */
  readonly accept: (reply: FastifyReply, who: SignedIn) => Promise<void>;
  /** Counts a failed attempt, of the address or of what it was proved to come from. */
  readonly failed: (request: FastifyRequest, by?: ProvedBy) => void;
  /** Counts an attempt that the provider could not answer; no failure of whoever signs in. */
  readonly providerAway: () => void;
  /** The page on which somebody signs in. */
  readonly page: (reply: FastifyReply, status: number, words?: string, wanted?: string) => FastifyReply;
  /** Another page, for somebody who is not signed in. */
  readonly show: (reply: FastifyReply, shown: Shown) => FastifyReply;
  /** Whether cookies are for HTTPS alone. */
  readonly isSecure: boolean;
  /** Whether somebody is signed in already. */
  readonly isIn: (request: FastifyRequest) => Promise<boolean>;
  /** Throws `csrf_failed` for a form of another site. */
  readonly assertOwnOrigin: (request: FastifyRequest) => void;
  /** Ends what somebody had open who does not get in any more, and tells the review service. */
  readonly lost: (who: Pick<SignedIn, 'subject' | 'tenant'>) => Promise<void>;
  /** The same in every tenant but this one (`null`: in every one), for a way by which somebody belongs to one tenant at a time. */
  readonly leftOthers: (who: { readonly subject: string; readonly tenant: string | null }) => Promise<void>;
}

/** One way to sign in. `choose.ts` makes the one that the settings name. */
export interface SignInMode {
  /** Stands in the sessions that it opened; those of another way are not its own. */
  readonly name: string;
  /** What stands on the page `/login`; `wanted` is the page that is opened afterwards. */
  readonly body: (refused: string | undefined, wanted: string) => VNode;
  readonly routes: (app: ServiceApp, door: Door) => void;
  /** The pages on which a sign-in begins, where it can end at the console's own name alone: a cookie or a passkey belongs to that. */
  readonly beginsAt?: readonly string[];
  /** Who a session is by what the settings say now, and what proves it; `null` for nobody any more. */
  readonly personOf: (session: Opened) => { readonly person: Person; readonly proof: ReviewProof } | null;
  /** Where each request has to prove anew who sends it: whether this one does, for the person of the session. */
  readonly isProvedBy?: (request: FastifyRequest, session: SignedIn) => Promise<boolean>;
  /** Where what a session was opened by may change without the settings: whether it is still so. Asked of whoever shows a token alone. */
  readonly entitles?: (session: Opened) => Promise<boolean>;
  /** Notes that somebody signed out, once his session is ended. */
  readonly left?: (who: Pick<SignedIn, 'subject' | 'tenant' | 'role'>) => void;
  readonly readiness?: ReadinessChecks;
  /** Who a token of a program stands for, where this way has such tokens. */
  readonly personByToken?: (token: string) => { readonly person: Person; readonly proof: ReviewProof } | null;
  /** Where the provider sends forms, from pages of its own: whoever takes them proves them by what they hold. */
  readonly answersAt?: string;
  /** The provider where somebody signs out as well. */
  readonly leave?: { readonly origin: string; readonly address: () => string };
  readonly close?: () => Promise<void>;
}
