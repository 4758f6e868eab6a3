import type { ServiceSource } from '@spock/protocol';

import { answer, type Handler } from '../connection/answer.ts';
import { callOptions } from '../connection/call-options.ts';

/** The names of all services. */
export function listServicesHandler(source: ServiceSource): Handler<'listServices'> {
	return async (data, call) => answer(await source.list(data, callOptions(call, call.caller.id)));
}
