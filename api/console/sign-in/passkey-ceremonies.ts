import { SERVICE_WORDS } from '../../../console/services.js';
import { GateError } from '../../../domain/errors.js';
import type { Over } from '../../plugins/declaration.js';
import type { AskLimits } from '../ask-limits.js';
import { neighbourOf } from '../neighbour.js';

/** How the review service names the session of a passkey, and a ceremony under way. */
export const HIL_SESSION = 'gate_hil_session';
const HIL_CEREMONY = 'gate_hil_ceremony';

/** What the review service answered: its refusal as it stands, or what it said, with what it wants kept. */
export interface CeremonyAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly ceremony: string | null;
  readonly session: string | null;
}

/** The review service's ceremonies for people who have a passkey and no token. Throws `console_neighbour_away`. */
export function passkeyCeremonies({
  hil,
  tenant,
  limits,
}: {
  readonly hil: Promise<Over>;
  readonly tenant: string;
  readonly limits: Pick<AskLimits, 'readMs' | 'ceremonyMs'>;
}) {
  const reviews = neighbourOf('hil', hil, { tenant, limits });
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    cookie: string | null,
    body?: object,
  ): Promise<CeremonyAnswer> => {
    const headers = cookie === null ? {} : { cookie };
    const step = { method, path, headers, ...(body !== undefined && { body }) };
    const { status, setCookies, text } = await reviews.pass(step, limits.ceremonyMs);
    const set = (name: string): string | null => {
      const line = setCookies.find((each) => each.startsWith(`${name}=`));
      return line === undefined ? null : (line.slice(name.length + 1).split(';', 1)[0] ?? null);
    };
    try {
      if (status >= 500) throw new Error(`it answered ${status}`);
      const said = JSON.parse(text) as CeremonyAnswer['body'];
      return { status, body: said, ceremony: set(HIL_CEREMONY), session: set(HIL_SESSION) };
    } catch (cause) {
      throw new GateError('console_neighbour_away', `${SERVICE_WORDS.hil}, which knows the passkeys, does not answer`, {
        cause,
      }).of('hil');
    }
  };
  const under = (ceremony: string): string => `${HIL_CEREMONY}=${ceremony}`;
  return {
    begin: (what: 'login' | 'register', body: object) => ask('POST', `/auth/people/${what}/start`, null, body),
    finish: (what: 'login' | 'register', ceremony: string, body: object) =>
      ask('POST', what === 'login' ? '/auth/login/finish' : '/auth/people/register/finish', under(ceremony), body),
    /** Who a session is now; 401 for nobody. */
    me: (session: string) => ask('GET', '/auth/me', `${HIL_SESSION}=${session}`),
  };
}
