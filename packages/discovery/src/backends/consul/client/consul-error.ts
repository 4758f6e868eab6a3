import type { ClientRequest, IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';
import { messageOf } from '@spock/protocol/internal';

/** As the npm package rejects. */
interface ResponseError extends NodeJS.ErrnoException {
	readonly statusCode?: number;
	readonly response?: unknown;
}

/** Of what Consul says in an error, in characters. */
const WORDS_MAX = 300;

/**
 * Refuses an empty answer from which ACLs filtered everything: the service may exist, this token may not see it.
 * Throws ACL_DENIED. Source: https://developer.hashicorp.com/consul/api-docs/api-structure#filtered-results
 */
export function refuseFiltered({ headers }: Pick<IncomingMessage, 'headers'>): void {
	if (headers['x-consul-results-filtered-by-acls'] !== 'true') return;
	throw new SpockError(
		'ACL_DENIED',
		'Consul filtered every result from its response: use an ACL token that may read them',
	);
}

/** A denial, with the right that a token must have. One that Consul does not know has none at all. */
export function withRight(error: unknown, right: string): unknown {
	if (!SpockError.is(error, 'ACL_DENIED') || error.details['isUnknownToken'] === true) return error;
	return new SpockError('ACL_DENIED', `${error.message}: it needs ${right}`, { details: error.details });
}

/** An answer in another shape than the API's: a proxy's or another program's page. */
export function notJson({ headers }: Pick<IncomingMessage, 'headers'>): Error {
	const type = headers['content-type'] ?? 'no content type';
	return new Error(`its response is not that of Consul's API (${type}): check that this address is Consul`);
}

/**
 * What went wrong with one address. 403 is a denied token; everything else (refused, reset, 429, 500, 503, 400, a wrong
 * answer, a deadline) is a registry that cannot answer now. Tokens are cut out of what a server may have echoed, and a
 * cause that holds the request is left out, because the request holds the token.
 */
export function consulError(reason: unknown, url: string, secrets: readonly string[]): SpockError {
	if (SpockError.is(reason)) return reason;
	const error = reason instanceof Error ? reason : new Error(String(reason));
	const { statusCode, code, response } = error as ResponseError;
	const text = plainBody(response) || messageOf(error).replace(/^consul: [\w./-]+: /, '');
	const isUnknownPlace = /No path to datacenter/.test(text);
	const details = {
		address: url,
		...(statusCode !== undefined && { status: statusCode }),
		...(typeof code === 'string' && { systemCode: code }),
		...(isWantOfRoom(error as ResponseError) && { isFull: true }),
		...((isUnknownPlace || statusCode === 400) && { isRefused: true }),
	};
	if (statusCode === 403) {
		// Consul's own words for a token that was revoked, has expired, or has never been there.
		const isUnknownToken = /ACL not found/i.test(error.message);
		const why = isUnknownToken ? 'does not know the ACL token' : 'denies the request';
		return new SpockError('ACL_DENIED', `Consul at ${url} ${why} (403): check the ACL token`, {
			details: { ...details, isUnknownToken },
		});
	}
	const said = statusCode === undefined ? `failed: ${text}` : `answered ${statusCode}: ${text}`;
	const hint = isUnknownPlace
		? ': Consul does not know this datacenter; check that of the lookup and that of the sidecar'
		: '';
	return new SpockError('UNAVAILABLE', `Consul at ${url} ${redact(said, secrets)}${hint}`, {
		details,
		...(response === undefined && { cause: reason }),
	});
}

/** What stands between here and Consul answers with these in its own name, where it ends a query that has waited too long for it. */
const GATEWAY_STATUSES: readonly unknown[] = [502, 503, 504];

/**
 * The same error, marked with `isQuietEnd`, where a proxy has lost patience with a query in which nothing changed: by an answer of its
 * own, or by the end of the connection. Undefined for any other. Nothing is wrong with Consul then, as far as is known.
 */
export function quietEnd(error: SpockError): SpockError | undefined {
	const { code, message, details } = error;
	if (!GATEWAY_STATUSES.includes(details['status']) && details['systemCode'] !== 'ECONNRESET') return undefined;
	return new SpockError(code, message, { details: { ...details, isQuietEnd: true }, cause: error });
}

/**
 * True for a 404 that Consul itself has answered: there is no such check, session or service, and Consul is well. It says its default
 * ACL policy with every answer, and an index where there is one; the 404 of another program has neither.
 */
export function isConsulsAnswer(reason: unknown): boolean {
	const { statusCode, response } = (reason ?? {}) as {
		readonly statusCode?: unknown;
		readonly response?: Partial<Pick<IncomingMessage, 'headers'>>;
	};
	const headers = response?.headers ?? {};
	return statusCode === 404 && ('x-consul-default-acl-policy' in headers || 'x-consul-index' in headers);
}

/**
 * True where a connection is one too many: for this process, which may open no more files, or for Consul, whose answer says so. It refuses
 * the connection, and so never a call on one that it has served before.
 * Source: https://developer.hashicorp.com/consul/docs/agent/config/config-files#http_max_conns_per_client
 */
function isWantOfRoom({ statusCode, code, response }: ResponseError): boolean {
	if (code === 'EMFILE' || code === 'ENFILE') return true;
	const { req } = (response ?? {}) as { readonly req?: Pick<ClientRequest, 'reusedSocket'> };
	return statusCode === 429 && req?.reusedSocket === false;
}

/** Consul's own words, which the npm package leaves out where they are longer than 80 characters. */
function plainBody(response: unknown): string | undefined {
	const { body, headers } = (response ?? {}) as Partial<IncomingMessage> & { readonly body?: unknown };
	if (typeof body !== 'string' || !headers?.['content-type']?.startsWith('text/plain')) return undefined;
	return body.trim().slice(0, WORDS_MAX);
}

function redact(text: string, secrets: readonly string[]): string {
	return secrets.reduce((shown, secret) => (secret === '' ? shown : shown.replaceAll(secret, '***')), text);
}

/**
 * Names that cannot be asked for: Consul's HTTP server refuses a path with what cannot be printed, and moves these segments
 * away (measured on 1.20.2; a `/` within a name is no trouble). Asking would look like a Consul that is ill.
 */
const NOT_A_NAME = /^\.{0,2}$|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Throws BAD_REQUEST for a name that no Consul answers for; `path` is the member that it came in. */
export function refuseUnaskable(path: 'key' | 'service', name: string): void {
	if (!NOT_A_NAME.test(name)) return;
	const message = `Consul cannot have a ${path} named ${JSON.stringify(name)}: use another name`;
	throw new SpockError('BAD_REQUEST', message, { details: { path } });
}
