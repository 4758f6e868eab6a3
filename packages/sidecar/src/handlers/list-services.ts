import type { ServiceSource } from '@spock/protocol';

import { answer, type Handler } from '../server/answer.ts';

/** The names of all services. */
export function listServicesHandler(source: ServiceSource): Handler<'listServices'> {
	return async (data, { signal, timeoutMs }) =>
		answer(await source.list(data, { signal, ...(timeoutMs !== undefined && { timeoutMs }) }));
}
