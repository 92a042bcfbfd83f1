import {
  GATE_OWN_ROUTES,
  ROUTE_AUTHORITY,
  type GovernedService,
  type RouteAuthority,
  routeName,
} from '../../contracts/route-authority.js';
import { GateError } from '../../domain/errors.js';
import { routeMatcher } from '../../domain/identity/route-matcher.js';
import type { ServiceApp } from './app.js';

export type { GovernedService };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Open to every caller whose certificate the CA signed. The route's row must say `callers: 'public'`. */
    public?: boolean;
    /** A service may show its bootstrap certificate here. */
    bootstrap?: boolean;
  }
}

/** One registered route, its path written like a template of the authority table. */
export interface RegisteredRoute {
  readonly method: string;
  readonly path: string;
  readonly public: boolean;
}

const registered = new WeakMap<object, RegisteredRoute[]>();

/** The routes registered on `app` so far; complete after `app.ready()`. */
export const registeredRoutes = (app: ServiceApp): readonly RegisteredRoute[] => registered.get(app) ?? [];

/**
 * Applies the table to every route of `app` (docs/architecture/identity-and-routes.md#authority-table). The caller's id must be in the row
 * of the one template that matches the whole path, and that row must be of the route about to run. Checked before the body is read and
 * before any look-up: 403 `capability_denied` both for an unlisted caller and for a path without a row, 401 `caller_spiffe_missing` for who shows
 * no certificate with a SPIFFE id, saying what is missing. The start fails when a route has no row or one that is not built yet, is registered twice, or is public on one side only.
 */
export function enforceRouteAuthority(
  app: ServiceApp,
  service: GovernedService,
  rows: readonly RouteAuthority[] = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES],
): void {
  const own = rows.filter((row) => row.service === service);
  const matchRow = routeMatcher(own);
  const routes: RegisteredRoute[] = [];
  registered.set(app, routes);

  app.addHook('onRoute', ({ method: methods, url, config }) => {
    for (const method of [methods].flat()) {
      const route = { method, path: templateOf(url), public: config?.public === true };
      const row = own.find((candidate) => candidate.method === route.method && candidate.path === route.path);
      if (!row)
        throw new Error(
          `${service}: ${routeName(route)} has no row in contracts/route-authority.ts; nobody could call it`,
        );
      if (!row.built)
        throw new Error(`${service}: ${routeName(route)} is not built, says contracts/route-authority.ts`);
      if ((row.callers === 'public') !== route.public)
        throw new Error(`${service}: ${routeName(route)} is public on one side only: its row or its route config`);
      if (routes.some((other) => routeName(other) === routeName(route)))
        throw new Error(`${service}: ${routeName(route)} is registered twice`);
      routes.push(route);
    }
  });

  app.addHook('onRequest', (request, _reply, done) => {
    const row = matchRow(request.method, request.raw.url ?? '');
    // Router and table must agree on the route: a path that only one of them reads as `{id}` runs nothing.
    const runs = request.routeOptions.url;
    const known = row !== null && runs !== undefined && templateOf(runs) === row.path ? row : null;
    if (known?.callers === 'public') return done();
    if (request.caller === null) return done(request.certificateFault ?? new GateError('caller_spiffe_missing'));
    const allowed = known?.callers as readonly string[] | undefined;
    if (allowed?.includes(request.caller.callerId)) return done();
    return done(new GateError('capability_denied', 'capability_not_granted'));
  });
}

/** Turns the router's `/pending/:id` into the table's `/pending/{id}`. Other router syntax stays and finds no row. */
const templateOf = (url: string): string => url.replace(/(?<=\/):([A-Za-z_]\w*)(?=\/|$)/g, '{$1}');
