import type { FetchAnswer } from '../watch-loop.ts';
import type { CheckDigest, NameDigest } from './check-digest.ts';
import type { ConsulHttp } from './consul-http.ts';
import { readAnsweredChecks, readAnsweredNames } from './read-answer.ts';

/** Nearly all checks pass: without them the answer is thousands of times smaller, and each change of any check brings one. */
const NOT_PASSING = 'Status != "passing"';

type Parameters = Readonly<Record<string, string>>;
type Blocking<T> = (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;

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
 * The names of all services of a datacenter, with their tags.
 * Source: https://developer.hashicorp.com/consul/api-docs/catalog#list-services
 */
export function blockingNames(http: ConsulHttp, parameters: Parameters): Blocking<NameDigest> {
	return http.blocking({
		parameters,
		send: (client, call) => client.catalog.service.list(call),
		read: readAnsweredNames,
	});
}
