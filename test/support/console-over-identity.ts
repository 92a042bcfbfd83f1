import { beforeEach } from '@jest/globals';
import type { Operator } from '../../config/hil.js';
import { type ConsoleFixture, openConsole, type TestBrowser } from './console-over-hil.js';
import { fixture as openedFor } from './fixture.js';
import { OPERATOR } from './hil.js';
import { hostileLedger } from './hostile-services.js';
import { fieldsIn, formIn } from './html.js';
import { type IdentityBehind, identityBehind } from './identity-behind.js';

const SECOND = 'second-token-0123456789abcdefghijklm';
/** The operators that identity and the console know. */
const OPERATORS = [
  { name: 'dev', tenant: 'acme', token: OPERATOR },
  { name: 'second', tenant: 'acme', token: SECOND },
];
/** Whom the console knows, and identity does not. */
const THIRD = { name: 'third', tenant: 'acme', token: `${SECOND}3` };

/** The page of a form, read as a browser shows it. */
export const pageOf = async (browser: TestBrowser, path: string): Promise<string> => (await browser.get(path)).text;

/** Sends a form of a page as a browser would, with what is typed. */
export async function sendForm(
  browser: TestBrowser,
  page: string,
  form: string | RegExp,
  typed: Readonly<Record<string, string>> = {},
) {
  const part = formIn(await pageOf(browser, page), form);
  return browser.post(part.attributes['action'] ?? '', { ...fieldsIn(part), ...typed });
}

/**
 * The console over a real identity, of which two people of acme are administrators, anew for each test. The ledger has a call of every agent and
 * tool, but for those whose names begin with `unknown` and `no_tool`.
 */
export function identityHere(): {
  readonly console: ConsoleFixture;
  readonly identity: IdentityBehind;
  readonly first: TestBrowser;
  readonly second: TestBrowser;
  /** Has identity know no other operator than the first. */
  readonly alone: () => void;
  /** The kinds of the rows that identity brought to the ledger. */
  readonly told: () => readonly (string | null | undefined)[];
} {
  let fixture: ConsoleFixture;
  let identity: IdentityBehind;
  let known: Operator[];
  let first: TestBrowser;
  let second: TestBrowser;
  openedFor(
    async () => {
      known = [...OPERATORS];
      let clock = Date.now;
      identity = await identityBehind({ operators: known }, () => clock());
      fixture = await openConsole(undefined, {
        overOf: async (name, over) => (name === 'identity' ? identity.over : over),
      });
      clock = () => fixture.hil.now;
      await fixture.restart({ operators: [...OPERATORS, THIRD] });
    },
    async () => {
      await fixture.close();
      await identity.close();
    },
  );
  beforeEach(async () => {
    const tells = hostileLedger('a-bot', '00000000-0000-4000-8000-000000000001');
    fixture.ledger = (path, search) =>
      path === '/audit/agent/rows' && /agent_id=unknown|tool=no_tool/.test(search) ? [] : tells(path);
    first = await fixture.browser();
    second = await fixture.browser({ subject: 'operator:second' });
  });
  return {
    get console() {
      return fixture;
    },
    get identity() {
      return identity;
    },
    get first() {
      return first;
    },
    get second() {
      return second;
    },
    alone: () => void known.splice(1),
    told: () => identity.told.map(({ event_kind: kind }) => kind),
  };
}
