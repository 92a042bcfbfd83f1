import { compare, truncates } from 'bcryptjs';
import { SignInByPassword } from '../../../console/ui/sign-in.js';
import { countedAddress } from '../../../domain/limits/counted-address.js';
import { takesForm, takesOfBrowser } from '../../plugins/openapi.js';
import { inFairTurn } from './in-turn.js';
import { ownPath } from './own-path.js';
import type { SignInMode } from './mode.js';
import { openedIn, sessionMode } from './session-mode.js';
import { vouchedPerson } from './vouching.js';

const NAME = 'basic-admin';

/** One administrator with a password, for an installation without a provider. */
export function basicAdminMode(settings: {
  readonly user: string;
  readonly passwordHash: string;
  readonly tenant: string;
  readonly decideToken: string;
}): SignInMode {
  const { user, passwordHash, tenant, decideToken } = settings;
  const subject = `basic:${user}`;
  // A session names the password it was opened with, so that a new one ends it.
  const mode = sessionMode(NAME, passwordHash);
  // One comparison after the other: many at once would take the process, and pass before the first failure is counted.
  const inTurn = inFairTurn();
  /** Compares whatever the name is: the time does not tell whether it exists. */
  const isRight = async (name: unknown, password: unknown): Promise<boolean> => {
    const text = typeof password === 'string' && !truncates(password) ? password : '';
    return (await compare(text, passwordHash)) && text !== '' && name === user;
  };
  return {
    name: NAME,
    body: (refused, wanted) => <SignInByPassword refused={refused} wanted={wanted} />,
    personOf(session) {
      const opened = openedIn(session, mode, NAME);
      if (opened === null || opened.subject !== subject || opened.tenant !== tenant) return null;
      return vouchedPerson(opened, NAME, decideToken);
    },
    routes(app, door) {
      app.get('/login', takesOfBrowser({ query: ['return_to'] }), (request, reply) => {
        const { return_to: wanted } = request.query as Readonly<Record<string, unknown>>;
        return door.page(reply, 200, undefined, ownPath(wanted));
      });
      app.post(
        '/auth/basic-login',
        takesOfBrowser({ form: takesForm(['name', 'password'], ['return_to']) }),
        async (request, reply) => {
          // Whoever has failed too often already does not stand in the way of the others.
          door.throttle(request);
          door.assertOwnOrigin(request);
          const came = await inTurn(countedAddress(request.ip), async () => {
            door.throttle(request);
            const { name, password, return_to: wanted } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
            if (!(await isRight(name, password))) {
              door.failed(request);
              return {
                reply: door.page(reply, 401, 'This name and this password do not belong together.', ownPath(wanted)),
              };
            }
            await door.accept(reply, { subject, tenant, mode, role: 'admin' });
            return { reply: reply.redirect(ownPath(wanted), 303) };
          });
          return came.reply;
        },
      );
    },
  };
}
