import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import type { CheckDigest } from './check-digest.ts';
import { readAnsweredChecks, readAnsweredIndex } from './read-answer.ts';

/** Nearly all checks pass: without them the answer is thousands of times smaller, and each change of any check brings one. */
const NOT_PASSING = 'Status != "passing"';
/** No service has this name. */
const NO_NAME = 'ServiceName == ""';

type Parameters = Readonly<Record<string, string>>;
/** One query: blocks while the index is `index`; 0 does not block. */
export type Blocking<T> = (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;

/**
 * Every check of a datacenter that does not pass.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-checks-in-state
 */
export function blockingChecks(http: ConsulHttp, parameters: Parameters): Blocking<CheckDigest> {
	return http.blocking({
		parameters: { ...parameters, filter: NOT_PASSING },
		send: (client, call) => client.health.state({ ...call, state: 'any' }),
		read: readAnsweredChecks,
	});
}

/**
 * The index of the catalog of a datacenter: it moves with every edit of any service. The names are left out.
 * Source: https://developer.hashicorp.com/consul/api-docs/catalog#list-services
 */
export function blockingCatalogIndex(http: ConsulHttp, parameters: Parameters): Blocking<true> {
	return http.blocking({
		parameters: { ...parameters, filter: NO_NAME },
		send: (client, call) => client.catalog.service.list(call),
		read: readAnsweredIndex,
	});
}
