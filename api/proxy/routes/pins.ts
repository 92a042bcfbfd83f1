import {
  acceptedPins,
  acceptPins,
  forgetPins,
  forgottenPins,
  pinDiff,
  pinnedAgents,
  pinsOf,
  shownTools,
} from '../../../contracts/tool-pins.js';
import type { ToolPinning } from '../../../domain/tool-definitions/pinning.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type OperatorOf, operatorsOnly } from './operators-only.js';

export interface PinRouteOptions {
  readonly pinning: ToolPinning;
  readonly operatorOf: OperatorOf;
}

/**
 * What operators see and decide about the tools that agents were shown first. `operatorOf` throws for everybody else, before a body is
 * read.
 */
export function pinRoutes(app: ServiceApp, { pinning, operatorOf }: PinRouteOptions): void {
  const onRequest = operatorsOnly(operatorOf);
  app.get('/pins', { schema: { response: { 200: pinnedAgents } }, onRequest }, (request) =>
    pinning.list(operatorOf(request).tenant),
  );
  app.get('/pins/:agent', { schema: { params: pinsOf, response: { 200: pinDiff } }, onRequest }, (request) =>
    pinning.diff(operatorOf(request).tenant, request.params.agent),
  );
  app.get('/pins/:agent/tools', { schema: { params: pinsOf, response: { 200: shownTools } }, onRequest }, (request) =>
    pinning.shown(operatorOf(request).tenant, request.params.agent),
  );
  app.post('/pins/accept', { schema: { body: acceptPins, response: { 200: acceptedPins } }, onRequest }, (request) =>
    pinning.accept(operatorOf(request), request.body),
  );
  app.post('/pins/forget', { schema: { body: forgetPins, response: { 200: forgottenPins } }, onRequest }, (request) =>
    pinning.forget(operatorOf(request), request.body),
  );
}
