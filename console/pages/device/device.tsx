import { GateError } from '../../../domain/errors.js';
import { Csrf, Facts, Foreign, Time } from '../../ui/parts.js';
import type { AskingDevice } from '../../../contracts/console.js';
import type { Action, Form, Page, Shown, Visit } from '../../visit.js';

const TITLE = 'A command line asks';
/** Longer than any code with all its separators. */
const LONGEST_CODE = 64;

const isoOf = (ms: number): string => new Date(ms).toISOString();

/**
 * Where a person lets a command line act in his name, by the code that it shows (docs/architecture/console.md#the-command-line). Nothing is
 * agreed to by opening the page, also with the code in its address.
 */
export const DEVICE: Page = {
  of: 'command-line',
  path: '/device',
  role: 'viewer',
  async show(visit) {
    const code = (visit.query['user_code'] ?? '').slice(0, LONGEST_CODE);
    if (code.trim() === '') return { title: TITLE, body: <Typing /> };
    const asking = await visit.sessions.asking(code);
    return asking === null ? nobody() : { title: TITLE, body: <Asking of={asking} visit={visit} /> };
  },
};

const NOBODY = 'No command line waits under this code. It may be typed wrongly, too old, or used.';

const nobody = (): Shown => ({
  title: TITLE,
  status: 404,
  notice: { kind: 'bad', text: NOBODY },
  body: <Typing />,
});

const Typing = () => (
  <section class="sign-in">
    <h1>Let a command line act as you</h1>
    <p>
      Type the code that <code>gate login</code> shows in your own terminal.
    </p>
    <form method="get" action="/device">
      <label for="user_code">Code</label>
      <input
        id="user_code"
        name="user_code"
        autocomplete="off"
        autocapitalize="characters"
        spellcheck={false}
        required
      />
      <button class="act" type="submit">
        Go on
      </button>
    </form>
  </section>
);

const Asking = ({
  of: { code, askedMs, untilMs, askedFrom },
  visit: { person, csrf, nowMs, mayPost },
}: {
  readonly of: AskingDevice;
  readonly visit: Visit;
}) => (
  <section>
    <h1>Let this command line act as you?</h1>
    <p class="notice bad">
      Agree only if you have just typed <code>gate login</code> yourself, and your terminal shows this code. If somebody
      sent you the code or a link to this page, refuse: whoever sent it would act in your name.
    </p>
    <Facts
      of={[
        ['Code', <strong class="foreign headline">{code}</strong>],
        ['It asks from', <Foreign text={askedFrom} />],
        ['Asked', <Time iso={isoOf(askedMs)} nowMs={nowMs} />],
        ['The code ends', <Time iso={isoOf(untilMs)} nowMs={nowMs} />],
        ['It would act as', <Foreign text={`${person.subject} (${person.role}, ${person.tenant})`} />],
      ]}
    />
    <p>
      It could list and read the calls that wait and the rows of the ledger of your tenant
      {mayPost('/hil/:id/approve') && ', and decide about calls in your name'}, until its time is over or you end it on
      the page <a href="/me">You</a>.
    </p>
    <div class="answers">
      <Answer to="/device/allow" code={code} csrf={csrf} label="Let it act as me" look="act" />
      <Answer to="/device/refuse" code={code} csrf={csrf} label="Refuse" look="destroy" />
    </div>
  </section>
);

const Answer = ({
  to,
  code,
  csrf,
  label,
  look,
}: Readonly<Record<'to' | 'code' | 'csrf' | 'label' | 'look', string>>) => (
  <form method="post" action={to}>
    <Csrf token={csrf} />
    <input type="hidden" name="user_code" value={code} />
    <button class={look} type="submit">
      {label}
    </button>
  </form>
);

const codeIn = (form: Form): string => form.get('user_code').slice(0, LONGEST_CODE);

const answering = (answer: 'allowed' | 'refused', said: string): Pick<Action, 'role' | 'act' | 'refused'> => ({
  role: 'viewer',
  async act(visit, form) {
    if (!(await visit.sessions.answer(codeIn(form), answer))) throw new GateError('not_found', NOBODY);
    return {
      title: TITLE,
      notice: { kind: 'good', text: said },
      body: (
        <section>
          <h1>{answer === 'allowed' ? 'Go back to your terminal' : 'Refused'}</h1>
          <p>
            What acts in your name is listed on the page <a href="/me">You</a>.
          </p>
        </section>
      ),
    };
  },
  refused: () => Promise.resolve({ title: TITLE, body: <Typing /> }),
});

export const DEVICE_ALLOW: Action = {
  of: 'command-line',
  path: '/device/allow',
  does: 'let a command line act for oneself',
  written: {},
  ...answering('allowed', 'Allowed. The command line is signed in within a few seconds.'),
};

export const DEVICE_REFUSE: Action = {
  of: 'command-line',
  path: '/device/refuse',
  does: 'refuse a command line',
  written: {},
  ...answering('refused', 'Refused. The command line is told so, and got nothing.'),
};
