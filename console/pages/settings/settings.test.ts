import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aboutConsole } from '../../../api/console/about.js';
import { CONSOLE_SETTINGS } from '../../../config/console.js';
import { SIGN_IN_SETTINGS } from '../../../config/console-sign-in.js';
import { readGroups } from '../../../config/env.js';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import { SEES } from '../../roles.js';
import { ACTIONS, PAGES } from '../../routes.js';
import { linksIn, type Part, partsIn, tagsBeside, wordsIn } from '../../../test/support/html.js';

/** A value for every secret of the console. */
const SECRETS: Readonly<Record<string, string>> = {
  GATE_HIL_OPERATORS: 'kim@acme:Kq7xZp2vWm9tRb4yLc8nHd3fJg6sAe1u,lee@globex:Tn5wVb8mQz2xCk7rYp4jFh9dGs3aLe6u',
  GATE_HIL_DECIDE_TOKEN: 'Vd4kXn9qPw2zMt7cRy5bJh8gLf3sUa6eKo1i',
  GATE_CONSOLE_SESSION_KEY: '3f9c2e71a8d45b06'.repeat(4),
  GATE_CONSOLE_ADMIN_PASS_BCRYPT: '$2b$12$Q9wErTyUiOpAsDfGhJkLzOx7CvBnM1234567890abcdefghijklmnop'.slice(0, 60),
  GATE_CONSOLE_OIDC_CLIENT_SECRET: 'Zm8pLx3vQk6nWr9t',
};
const PLAIN = {
  GATE_CONSOLE_AUTH: 'oidc',
  GATE_CONSOLE_URL: 'https://someone:UrlPassw0rd@gate.example/?token=UrlT0ken#UrlFragm3nt',
  GATE_CONSOLE_OIDC_CLIENT_ID: 'gate-console',
  GATE_CONSOLE_FEDERATED_TENANT_MAP: 'org_111=acme,org_222=initech',
  GATE_CONSOLE_FEDERATED_ADMIN_GROUPS: '<img src=x>\u202e',
};
const GROUPS = { own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS };

/** Every part of a secret from which something of it could be guessed. */
const partsOf = (secret: string): readonly string[] =>
  Array.from({ length: secret.length - 5 }, (_, at) => secret.slice(at, at + 6));

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole(undefined, {
    about: aboutConsole(readGroups('console', GROUPS, { ...PLAIN, ...SECRETS })),
  });
});
afterEach(() => fixture.close());

const text = async (role = 'viewer') => (await (await fixture.browser({ role })).get('/settings')).text;
const told = async (variable: string) => {
  const named = (row: Part) => partsIn(row, 'th').some((head) => wordsIn(head) === variable);
  const [row = ''] = partsIn(await text(), 'tr').filter(named);
  return partsIn(row, 'td').map(wordsIn).slice(0, 2);
};

describe('the settings', () => {
  it('show no secret and no part of one, of every setting that is secret', async () => {
    const secret = Object.values(GROUPS).flatMap((settings) =>
      Object.values(settings as Record<string, { variable: string; secret?: boolean }>)
        .filter((setting) => setting.secret)
        .map(({ variable }) => variable),
    );
    // A new secret needs a value above, so that it is looked for here.
    expect(new Set(secret)).toEqual(new Set(Object.keys(SECRETS)));
    const page = await text('admin');
    for (const [variable, value] of Object.entries(SECRETS)) {
      expect(partsOf(value).filter((part) => page.includes(part))).toEqual([]);
      expect(await told(variable)).toEqual(['set', 'set here']);
    }
  });

  it('show an address without who signs in by it, and without what follows its path', async () => {
    expect(await told('GATE_CONSOLE_URL')).toEqual(['https://gate.example/', 'set here']);
    expect(await text()).not.toMatch(/UrlPassw0rd|UrlT0ken|UrlFragm3nt|someone/);
  });

  it('name nobody else’s tenant', async () => {
    expect(await told('GATE_CONSOLE_FEDERATED_TENANT_MAP')).toEqual(['2 entries', 'set here']);
    expect(await text()).not.toMatch(/initech|globex|org_1/);
  });

  it.each([
    ['GATE_CONSOLE_AUTH', ['oidc', 'set here']],
    ['GATE_CONSOLE_PORT', ['8085', 'default']],
    ['GATE_CONSOLE_ALLOW_BASIC_ADMIN_NETWORK', ['off', 'default']],
    ['GATE_CONSOLE_OIDC_MFA_CLAIM', ['amr', 'default']],
    ['GATE_CONSOLE_CERT_FILE', ['not set', '']],
    ['GATE_CONSOLE_FEDERATED_VIEWER_GROUPS', ['not set', '']],
    ['GATE_CONSOLE_FEDERATED_ADMIN_GROUPS', ['<img src=x>\\u{202e}', 'set here']],
  ] as const)('say of %s: %j', async (variable, words) => {
    expect(await told(variable)).toEqual(words);
  });

  it('say the version, the way to sign in, and what each role may do', async () => {
    const page = wordsIn(await text());
    expect(page).toMatch(/Version \d+\.\d+\.\d+/);
    expect(page).toContain('Signed in by operator-token');
    const [, said = ''] = /Role May (.*?) What is set/.exec(page) ?? [];
    const doesOf = (role: string) => ACTIONS.filter((action) => action.role === role).map(({ does }) => does);
    expect(said.split(/ (?=approver what|admin what)|^(?=viewer)/)).toEqual([
      `viewer ${[SEES.viewer, ...new Set(doesOf('viewer'))].join('; ')}`,
      `approver ${['what a viewer may', SEES.approver, ...new Set(doesOf('approver'))].join('; ')}`,
      `admin ${['what an approver may', SEES.admin, ...new Set(doesOf('admin'))].join('; ')}`,
    ]);
  });

  it('say nothing wrong of who looks on: each page that asks for more serves a form that does', () => {
    for (const page of PAGES.filter(({ role }) => role !== 'viewer'))
      expect([
        page.path,
        ACTIONS.some(
          ({ path, role }) => role === page.role && (path === page.path || path.startsWith(`${page.path}/`)),
        ),
      ]).toEqual([page.path, true]);
  });

  it('ask no other service, and lead to the page of health, which has them all once', async () => {
    fixture.reached.length = 0;
    expect(linksIn(await text())).toContainEqual({ words: 'Health', href: '/health-of-services' });
    expect(fixture.reached).toEqual([]);
    for (const [away, words] of [
      [[], ['tag allow', 'answers']],
      [
        ['hil', 'ledger', 'policy'],
        ['tag deny', 'away'],
      ],
    ] as const) {
      for (const name of away) fixture.away.add(name);
      const health = await (await fixture.browser()).get('/health-of-services');
      expect([health.status, tagsBeside(health.text, 'review service')]).toEqual([200, [words]]);
      const settings = await (await fixture.browser()).get('/settings');
      expect([settings.status, settings.text]).toEqual([200, expect.stringContaining('GATE_CONSOLE_AUTH')]);
      expect(partsIn(settings.text, 'th').map(wordsIn)).not.toContain('review service');
    }
  });
});

describe('the navigation', () => {
  it.each([
    ['/settings', '/settings', 'page'],
    ['/audit/hunt', '/audit', 'true'],
    ['/', '/hil', 'true'],
    ['/hil?status=denied', '/hil', 'page'],
  ])('at %s says that one is at %s', async (path, current, how) => {
    const page = (await (await fixture.browser()).get(path)).text;
    const [nav = ''] = /<nav id="pages" aria-label="Pages"[^>]*>.*?<\/nav>/.exec(page) ?? [];
    const marked = [...nav.matchAll(/<a href="([^"]+)"[^>]*aria-current="([^"]+)"/g)].map(([, href, kind]) => [
      href,
      kind,
    ]);
    expect(marked).toEqual([[current, how]]);
  });
});
