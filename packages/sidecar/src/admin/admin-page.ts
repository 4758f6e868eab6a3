import type { IncomingMessage, ServerResponse } from 'node:http';

/** One answer of the admin port. */
export interface AdminPage {
	readonly status: number;
	readonly type: string;
	readonly body: string;
	/** Beside those that every answer has. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** Pages beside those that every admin port has. */
export interface AdminSite {
	/** For a path without its query; undefined if it has no such page. */
	page(path: string, query: URLSearchParams): AdminPage | undefined;
	/** The path that is answered with a stream, for as long as its reader stays. */
	readonly streamPath: string;
	/** Answers with a stream; undefined if it has, else why not. */
	stream(response: ServerResponse): AdminPage | undefined;
	/** Ends every stream; idempotent. */
	close(): void;
}

/**
 * What every answer says to a browser: run nothing and load nothing but what comes from here, be in no frame, guess no type,
 * tell nobody where you come from. https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/CSP
 */
export const ADMIN_HEADERS: Readonly<Record<string, string>> = Object.freeze({
	'cache-control': 'no-store',
	'content-security-policy':
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	'cross-origin-opener-policy': 'same-origin',
	'cross-origin-resource-policy': 'same-origin',
	'referrer-policy': 'no-referrer',
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
});

/** A page of plain text. */
export function textPage(status: number, body: string, headers?: AdminPage['headers']): AdminPage {
	return { status, type: 'text/plain; charset=utf-8', body, ...(headers && { headers }) };
}

/** A page of JSON. */
export function jsonPage(status: number, value: unknown): AdminPage {
	return { status, type: 'application/json', body: `${JSON.stringify(value)}\n` };
}

/** Sends a page; without its body to who asks for the head. */
export function sendPage({ method }: IncomingMessage, response: ServerResponse, page: AdminPage): void {
	const { status, type, body, headers } = page;
	response.writeHead(status, {
		...ADMIN_HEADERS,
		'content-type': type,
		'content-length': Buffer.byteLength(body),
		...headers,
	});
	response.end(method === 'HEAD' ? undefined : body);
}
