import type { ServiceApp } from '../api/plugins/app.js';
import { errorText, GateError } from '../domain/errors.js';

/** Listens; throws an error with a message for the operator. */
export async function listenOn(
  app: ServiceApp,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new GateError(
      'invalid_request',
      code === 'EADDRINUSE'
        ? `port ${port} is in use; stop what uses it or set --port`
        : `cannot listen on ${host}:${port}: ${errorText(error)}`,
    );
  }
}
