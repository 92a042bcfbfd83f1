import type { ComponentChildren, VNode } from 'preact';
import type { Role } from './roles.js';
import type { Services } from './services.js';

/** Somebody who is signed in. `subject` is how a decision names the person. */
export interface Person {
  readonly subject: string;
  readonly tenant: string;
  readonly role: Role;
  /** How the person signed in. */
  readonly mode: string;
}

/** One request of a browser. */
export interface Visit {
  readonly person: Person;
  /** Goes into every form of the page. */
  readonly csrf: string;
  readonly nowMs: number;
  readonly params: Readonly<Record<string, string>>;
  /** Of the address; of a name that stands there twice the first value. */
  readonly query: Readonly<Record<string, string>>;
  /** Whether a call of this tier is approved only with a passkey's signature. */
  readonly passkeyFor: (tier: string | null) => boolean;
  /** Whether the person is still signed in, with this role; asked between two of many decisions. */
  readonly stands: () => Promise<boolean>;
  /** The services, asked as this person. */
  readonly services: Services;
}

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
  /** The answer's status when it is not 200. */
  readonly status?: number;
}

/** A page: what it shows at its path, to whom. `show` asks the services and survives those that are away (`settled`). */
export interface Page {
  readonly path: `/${string}`;
  readonly role: Role;
  /** Its place in the navigation; a page without one is reached from others. */
  readonly nav?: { readonly label: string; readonly key: string };
  show(visit: Visit): Promise<Shown>;
}

/** A form's fields; of a name that stands there several times the values in `all`. */
export interface Form {
  readonly get: (name: string) => string;
  readonly all: (name: string) => readonly string[];
  readonly names: () => readonly string[];
}

/** What a form does. A refusal is shown on `refused`, with what was typed. */
export interface Action {
  readonly path: `/${string}`;
  readonly role: Role;
  /** Does it, and returns the address of the page that shows what came of it; or, where nothing is done yet, what to look at first. */
  act(visit: Visit, form: Form): Promise<string | Shown>;
  /** The page on which a refusal is told. */
  refused(visit: Visit, form: Form): Promise<Shown>;
}
