import type { ComponentChildren, VNode } from 'preact';
import type { Download } from './download.js';
import type { AskingDevice } from '../contracts/console.js';
import type { Role } from './roles.js';
import { GateError } from '../domain/errors.js';
import type { Services } from './services.js';

/** Somebody who is signed in. `subject` is how a decision names the person. */
export interface Person {
  readonly subject: string;
  /** `null`: all tenants there are, where one token is for all of them, as in lite. */
  readonly tenant: string | null;
  readonly role: Role;
  /** How the person signed in. */
  readonly mode: string;
  /** The teams to which the person belongs; none by default. */
  readonly teams?: readonly string[];
}

/** A setting of the console as it is in effect. No secret is in it. */
export interface SettingShown {
  readonly variable: string;
  readonly meaning: string;
  readonly told: string;
  readonly from: 'default' | 'set' | 'secret' | 'absent';
  /** Whether it is read, as people sign in here. */
  readonly isRead: boolean;
}

/** What the console may say of itself to anybody who is signed in. */
export interface AboutConsole {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  /** Where the workflow engine lists runs, to be opened by a browser; `null`: no page leads there. */
  readonly workflowPages: string | null;
  readonly settings: readonly SettingShown[];
}

/** A session of a person, in a browser or at a command line. */
export interface OpenHere {
  readonly id: string;
  readonly kind: 'browser' | 'command-line';
  readonly openedMs: number;
  readonly seenMs: number;
  /** When it ends unless it is used; and where it ends however much it is used, no later than then. */
  readonly untilMs: number;
  /** The address from which a command line asked for it. */
  readonly askedFrom: string | null;
  /** Of the request that asks. */
  readonly isThis: boolean;
}

/** What a person has open, and may open. */
export interface OwnSessions {
  open(): Promise<readonly OpenHere[]>;
  /** Ends one; `false` where the person has no such one. */
  end(id: string): Promise<boolean>;
  /** Who waits under a code; `null` for nobody. Throws `rate_limited` for a person who typed too many others. */
  asking(code: string): Promise<AskingDevice | null>;
  /** Lets it act for the person, or refuses it; `false` where nobody waits under the code. Throws like above. */
  answer(code: string, answer: 'allowed' | 'refused'): Promise<boolean>;
}

/** What not every edition of Gate has. */
export const PARTS = [
  'cases',
  'chat-clicks',
  'command-line',
  'decision-links',
  'exports',
  'judging-again',
  'models',
  'passkeys',
  'policy-changes',
  'settings',
  'stops',
  'tenants',
] as const;
export type Part = (typeof PARTS)[number];

/** Whether a call of this tier is approved only with a passkey's signature. */
export type NeedsPasskey = (tier: string | null) => boolean;

/** One request of a browser. */
export interface Visit {
  readonly person: Person;
  /** Goes into every form of the page. */
  readonly csrf: string;
  readonly nowMs: number;
  readonly params: Readonly<Record<string, string>>;
  /** Of the address; of a name that stands there twice the first value. */
  readonly query: Readonly<Record<string, string>>;
  /** Asks which calls this person signs; the review service may have to say it, so a page asks that needs to know. */
  readonly signing: () => Promise<NeedsPasskey>;
  /** Whether this Gate has it. */
  readonly has: (part: Part) => boolean;
  /** Whether the person is still signed in, with this role; asked between two of many decisions. */
  readonly stands: () => Promise<boolean>;
  readonly about: AboutConsole;
  /** The names that stand in the address more than once; `query` has what the first one says. */
  readonly twice: readonly string[];
  /** Whether this Gate has the form at that path of `console/routes.ts`, and takes it from this person. */
  readonly mayPost: (path: Action['path']) => boolean;
  /** What each role may do beyond looking, of every form. */
  readonly may: readonly Pick<Action, 'role' | 'does'>[];
  /** The services, asked as this person. */
  readonly services: Services;
  readonly sessions: OwnSessions;
}

/** One whose page decides calls, or says how they are decided. */
export type SigningVisit = Visit & { readonly passkeyFor: NeedsPasskey };
export const signingVisit = async (visit: Visit): Promise<SigningVisit> => ({
  ...visit,
  passkeyFor: await visit.signing(),
});

/** What is said above a page: what was done, or why it was not. */
export interface Notice {
  readonly kind: 'good' | 'bad';
  readonly text: ComponentChildren;
}

/** What the page is called, what it says first, and what it shows. */
export interface Shown {
  readonly title: string;
  readonly body: VNode;
  readonly notice?: Notice | null;
  /** Of a page on which a refusal is told: what stands behind the refusal's own words. */
  readonly behind?: ComponentChildren;
  /** The answer's status when it is not 200. */
  readonly status?: number;
  /** Answers a form and is gone back to: its browser keeps it until somebody signs out, as it would have to send the form again. */
  readonly keptForBack?: boolean;
  /** What comes below the body bit by bit, each as soon as it is there. It says itself what goes wrong, because by then the page has begun. Its work ends at `until`. */
  readonly later?: (until: AbortSignal) => AsyncIterable<VNode>;
  /** What it was made of, as one text: whoever has it already with the same one is told so, and gets nothing again. */
  readonly version?: string;
}

/** Tells above a page why it has not what was asked of it. Throws what is no refusal. */
export function asRefused(error: unknown): Pick<Shown, 'notice' | 'status'> {
  if (!(error instanceof GateError)) throw error;
  return { notice: { kind: 'bad', text: `${error.message} (${error.code})` }, status: error.status };
}

/** A page: what it shows at its path, to whom. `show` asks the services and survives those that are away (`settled`). */
export interface Page {
  readonly path: `/${string}`;
  readonly role: Role;
  /** Its place in the navigation; a page without one is reached from others. */
  readonly nav?: { readonly label: string; readonly key: string };
  /** The part of Gate that it is about: where that is not, the page is not. */
  readonly of?: Part;
  show(visit: Visit): Promise<Shown>;
}

/** A form's fields; of a name that stands there several times the first value, and all of them in `all`. */
export interface Form {
  readonly get: (name: string) => string;
  readonly all: (name: string) => readonly string[];
  readonly names: () => readonly string[];
  /** What somebody wrote into it himself, as the action says: each text that is not empty, with what its field is called. */
  readonly written: () => readonly Written[];
}
export interface Written {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}
/** Fields by their names, a name that ends with `.*` for all that begin so, with what each is called. */
export type WrittenFields = Readonly<Record<string, string>>;
/** The fields that several forms have. */
export const REASON: WrittenFields = { reason: 'Reason' };
export const NOTED: WrittenFields = { note: 'Note' };
/** A changed call: its values, and why. */
export const CHANGED: WrittenFields = { ...REASON, 'value.*': 'Value' };

/** What a form does. A refusal is shown on `refused`, with what was typed. */
export interface Action {
  readonly path: `/${string}`;
  readonly role: Role;
  /** The part of Gate that it is about, as of a page. */
  readonly of?: Part;
  /** What it does, as after "may". */
  readonly does: string;
  /**
   * What people write into it, as opposed to what a page put there or lets them choose: so much is shown again where the form cannot stand again.
   * No secret is among it.
   */
  readonly written: WrittenFields;
  /** The fields that may stand in it several times, as what is ticked. Of any other one that does, nobody knows which was meant: it is refused. */
  readonly several?: readonly string[];
  /** Whether the text of a policy is typed into it, which may be larger than what any other form holds. */
  readonly holdsPolicy?: true;
  /**
   * Does it, and returns the address of the page that shows what came of it; or, where nothing is done yet, what to look at first; or, where no
   * address can say it, what came of it itself; or the file that was asked for.
   */
  act(visit: Visit, form: Form): Promise<string | Shown | Download>;
  /** The page on which a refusal is told. */
  refused(visit: Visit, form: Form, why: GateError): Promise<Shown>;
}
