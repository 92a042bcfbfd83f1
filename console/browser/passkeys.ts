import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { beginsItsWay, endsItsWay } from './sending.js';

/** Asks the console for one step of a ceremony. Throws what it says of a refusal. */
async function ask<Answer>(path: string, csrf: string | null, body: unknown): Promise<Answer> {
  const answer = await fetch(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(csrf !== null && { 'x-csrf-token': csrf }),
    },
    body: JSON.stringify(body),
  });
  const said = (await answer.json().catch(() => ({}))) as { error?: string; reason?: string };
  if (!answer.ok)
    throw new Error(`${said.reason ?? `the console answered ${answer.status}`} (${said.error ?? 'unknown'})`);
  return said as Answer;
}

/** While the browser asks for it. */
const WAITING = 'Waiting for your passkey.';

const told = (error: unknown): string =>
  error instanceof Error && error.name === 'NotAllowedError'
    ? 'Not done: the passkey was not used, or it took too long.'
    : `Not done: ${error instanceof Error ? error.message : String(error)}`;

/** The page about oneself: registers, logs in, and replaces what was lost. */
export function passkeysOfMine(): void {
  const root = document.querySelector<HTMLElement>('[data-passkeys]');
  const said = root?.querySelector<HTMLElement>('[data-passkey-said]');
  const csrf = root?.dataset['passkeys'];
  if (!root || !said || csrf === undefined) return;
  const typed = (which: string) => root.querySelector<HTMLInputElement>(`[${which}]`)?.value.trim() ?? '';
  const register = async (body: object): Promise<string> => {
    const { publicKey } = await ask<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>(
      '/auth/register/start',
      csrf,
      body,
    );
    said.textContent = WAITING;
    const made = await startRegistration({ optionsJSON: publicKey });
    await ask('/auth/register/finish', csrf, made);
    showKey(root, made.response.publicKey);
    await hadAnew(root).catch(() => undefined);
    return 'Registered. Keep the public key below: whoever checks your decisions without Gate needs it, and it is shown nowhere later.';
  };
  const does: Readonly<Record<string, () => Promise<string>>> = {
    register: () => register({}),
    replace: () => register({ recovery_token: typed('data-passkey-token') }),
    login: async () => {
      const { publicKey } = await ask<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>('/auth/login/start', csrf, {
        name: root.dataset['name'],
      });
      said.textContent = WAITING;
      await ask('/auth/login/finish', csrf, await startAuthentication({ optionsJSON: publicKey }));
      return 'Logged in with your passkey.';
    },
    invite: async () => {
      const name = typed('data-passkey-of');
      const { token, expires_at } = await ask<{ token: string; expires_at: string }>(
        '/auth/enrollment/invitations',
        csrf,
        { name },
      );
      return `For ${name}, until ${expires_at}: ${linkFor(name, token)}`;
    },
    remove: async () => {
      await ask('/auth/enrollment/removals', csrf, { name: typed('data-passkey-of') });
      return 'Taken out: what was open ends within seconds.';
    },
    recover: async () => {
      const name = typed('data-passkey-of');
      const { token, expires_at } = await ask<{ token: string; expires_at: string }>(
        '/auth/enrollment/recoveries',
        csrf,
        { name },
      );
      return `Token, until ${expires_at}: ${root.dataset['links'] === undefined ? token : linkFor(name, token)}`;
    },
  };
  for (const button of root.querySelectorAll<HTMLButtonElement>('[data-passkey-do]'))
    button.addEventListener('click', () => {
      const act = does[button.dataset['passkeyDo'] ?? ''];
      if (!act) return;
      button.disabled = true;
      said.textContent = '';
      void act()
        .catch(told)
        .then((words) => {
          said.textContent = words;
          button.disabled = false;
        });
    });
}

/** In the fragment, which a browser sends to nobody. */
const linkFor = (name: string, token: string): string =>
  `${location.origin}/register#${new URLSearchParams({ name, token }).toString()}`;

/** The pages of somebody who is not signed in: signs in with a passkey, or registers the one of an invitation. */
export function enterByPasskey(): void {
  const begun = document.querySelector<HTMLFormElement>('form[data-passkey-begin]');
  const field = (form: HTMLFormElement, name: string) => form.elements.namedItem(name) as HTMLInputElement;
  if (begun && location.hash.length > 1) {
    const given = new URLSearchParams(location.hash.slice(1));
    // Out of the history before anything else happens.
    history.replaceState(null, '', location.pathname);
    for (const name of ['name', 'token']) field(begun, name).value = given.get(name) ?? '';
  }
  // Another invitation that is opened where this page stands loads no page by itself.
  addEventListener('hashchange', () => {
    if (begun && new URLSearchParams(location.hash.slice(1)).has('token')) location.reload();
  });
  const onSubmit = (
    form: HTMLFormElement | null,
    does: (form: HTMLFormElement, waits: () => void) => Promise<void>,
  ): void =>
    form?.addEventListener('submit', (event) => {
      event.preventDefault();
      const button = form.querySelector('button');
      const said = form.querySelector('[data-passkey-said]');
      if (!button || !said) return;
      button.disabled = true;
      said.textContent = '';
      does(form, () => {
        said.textContent = WAITING;
      })
        .catch((error: unknown) => {
          said.textContent = told(error);
        })
        .finally(() => {
          button.disabled = false;
        });
    });
  onSubmit(document.querySelector('form[data-passkey-enter]'), async (form, waits) => {
    const { publicKey } = await ask<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>(
      '/auth/passkey/login/start',
      null,
      { name: field(form, 'name').value },
    );
    waits();
    const assertion = await startAuthentication({ optionsJSON: publicKey });
    const return_to = field(form, 'return_to').value;
    const { to } = await ask<{ to: string }>('/auth/passkey/login/finish', null, { ...assertion, return_to });
    location.assign(to);
  });
  onSubmit(begun, async (form, waits) => {
    const [name, token] = [field(form, 'name').value, field(form, 'token').value];
    const { publicKey } = await ask<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>(
      '/auth/passkey/register/start',
      null,
      { name, token },
    );
    waits();
    const made = await startRegistration({ optionsJSON: publicKey });
    await ask('/auth/passkey/register/finish', null, made);
    form.hidden = true;
    const page = form.parentElement;
    const done = page?.querySelector('[data-passkey-done]');
    if (!page || !done) return;
    done.textContent =
      'Registered. Keep the public key below: whoever checks your decisions without Gate needs it, and it is shown nowhere later.';
    showKey(page, made.response.publicKey);
  });
}

/** Which passkeys there are, and what they sign, as the page says it now; what is shown once stays on this one. */
async function hadAnew(root: HTMLElement): Promise<void> {
  const answer = await fetch(location.pathname, { headers: { accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const now = page.querySelector('[data-passkeys-had]');
  if (answer.ok && now) root.querySelector('[data-passkeys-had]')?.replaceWith(document.importNode(now, true));
}

function showKey(root: HTMLElement, der: string | undefined): void {
  const place = root.querySelector<HTMLElement>('[data-passkey-key]');
  const [shown, copies] = [place?.querySelector('pre'), place?.querySelector<HTMLElement>('[data-copy]')];
  if (!place || !shown || !copies || der === undefined) return;
  const base64 = der.replaceAll('-', '+').replaceAll('_', '/');
  const whole = base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
  const key = `-----BEGIN PUBLIC KEY-----\n${(whole.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PUBLIC KEY-----`;
  shown.textContent = key;
  copies.dataset['copy'] = `${key}\n`;
  place.hidden = false;
}

/** Buttons that need a signature get it before their form is sent: of the decision that the button names, and of nothing else. */
export function signedForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    const button = event.submitter;
    if (!(button instanceof HTMLElement)) return;
    const { challenge, signs } = button.dataset;
    const proof = form.elements.namedItem('passkey');
    const csrf = form.elements.namedItem('csrf');
    if (challenge === undefined || signs === undefined) return;
    if (!(proof instanceof HTMLInputElement) || !(csrf instanceof HTMLInputElement) || proof.value !== '') return;
    event.preventDefault();
    beginsItsWay(form, WAITING);
    ask<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>(challenge, csrf.value, JSON.parse(signs))
      .then(({ publicKey }) => startAuthentication({ optionsJSON: publicKey }))
      .then((assertion) => {
        endsItsWay();
        proof.value = JSON.stringify(assertion);
        form.requestSubmit(button);
      })
      .catch((error: unknown) => {
        endsItsWay();
        let place = form.querySelector('[role="alert"]');
        if (!place) {
          place = document.createElement('p');
          place.className = 'notice bad';
          place.setAttribute('role', 'alert');
          form.append(place);
          // On a line of its own, below fields and buttons that stand in one.
          form.classList.add('told');
        }
        const yours = document.createElement('a');
        yours.href = '/me';
        yours.textContent = 'Your passkeys';
        place.replaceChildren(`${told(error)} `, yours);
      });
  });
}
