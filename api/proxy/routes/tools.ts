import { z } from 'zod';
import { forgetToolClass, setClass, setToolClass, toolList } from '../../../contracts/tools.js';
import type { ToolClassing } from '../../../domain/tool-classes/tool-classes.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type OperatorOf, operatorsOnly } from './operators-only.js';

const Window = z.object({ hours: z.coerce.number().min(1).max(720).default(24) });

export interface ToolRouteOptions {
  readonly classing: ToolClassing;
  readonly operatorOf: OperatorOf;
}

/** What operators see and say about the tools behind Gate. `operatorOf` throws for everybody else, before a body is read. */
export function toolRoutes(app: ServiceApp, { classing, operatorOf }: ToolRouteOptions): void {
  const onRequest = operatorsOnly(operatorOf);
  app.get('/tools', { schema: { querystring: Window, response: { 200: toolList } }, onRequest }, (request) =>
    classing.list(operatorOf(request).tenant, request.query.hours),
  );
  app.post('/tools/class', { schema: { body: setToolClass, response: { 200: setClass } }, onRequest }, (request) =>
    classing.set(operatorOf(request), request.body),
  );
  app.post(
    '/tools/forget',
    { schema: { body: forgetToolClass, response: { 200: z.object({ forgotten: z.number().int() }) } }, onRequest },
    async (request) => ({ forgotten: await classing.forget(operatorOf(request), request.body) }),
  );
}
