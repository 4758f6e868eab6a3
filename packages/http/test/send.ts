import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** What became of a request. */
export interface Answer {
	readonly status: number;
	readonly body: string;
	readonly response: IncomingMessage;
}

/** Makes a request and reads the whole answer; rejects with what it failed with. */
export function send(url: string, options: RequestOptions, body?: string | Buffer): Promise<Answer> {
	const { request, answer } = begin(url, options);
	request.end(body);
	return answer;
}

/** Makes a request, whose end is left to the caller, and its answer. */
export function begin(
	url: string,
	options: RequestOptions,
): { readonly request: ClientRequest; readonly answer: Promise<Answer> } {
	const request = url.startsWith('https:') ? requestHttps(url, options) : requestHttp(url, options);
	const answer = new Promise<Answer>((resolve, reject) => {
		request.on('error', reject).on('response', (response) => {
			read(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text, response }), reject);
		});
	});
	return { request, answer };
}

/** How often a request emitted `error`, and what, once it is closed. */
export async function errorsOf(request: ClientRequest): Promise<Error[]> {
	const errors: Error[] = [];
	request.on('error', (error) => errors.push(error));
	if (!request.closed) await new Promise<void>((resolve) => request.once('close', resolve));
	// An error more would come within these.
	for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
	return errors;
}

async function read(response: IncomingMessage): Promise<string> {
	let text = '';
	for await (const part of response.setEncoding('utf8')) text += part;
	return text;
}
