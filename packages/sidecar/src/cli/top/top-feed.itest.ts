import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { StatusView } from '../../admin/status-view.ts';
import { type FeedListener, TopFeed } from './top-feed.ts';

const opened: { server: Server; feed: TopFeed }[] = [];

/** A feed of a server that answers so. */
async function feedOf(respond: RequestListener, timeoutMs: number): Promise<TopFeed> {
	const server = createServer(respond).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const feed = new TopFeed({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }, timeoutMs);
	opened.push({ server, feed });
	return feed;
}

afterEach(() => {
	for (const { server, feed } of opened.splice(0)) {
		feed.close();
		server.close();
		server.closeAllConnections();
	}
});

/** The first view of a stream, and why it was lost after that. */
function followed(feed: TopFeed): { readonly view: Promise<StatusView>; readonly lost: Promise<Error> } {
	let listener: FeedListener = { view: () => undefined, lost: () => undefined };
	const view = new Promise<StatusView>((resolve) => {
		listener = { ...listener, view: resolve };
	});
	const lost = new Promise<Error>((resolve) => {
		listener = { ...listener, lost: resolve };
	});
	feed.follow(listener);
	return { view, lost };
}

const EVENTS =
	'event: overview\ndata: {}\n\nevent: services\ndata: {"rows":[],"gone":[]}\n\n' +
	'event: connections\ndata: {"count":0,"rows":[]}\n\nevent: changes\ndata: []\n\n';

describe('a feed of the admin server', () => {
	it('says of an answer that stops half-way that nothing more came', async () => {
		const feed = await feedOf((_request, response) => response.write('{"overview"'), 50);
		await expect(feed.view()).rejects.toThrow('does not answer: it sent nothing for 50 ms');
	});

	it('says the same of a stream that has gone silent', async () => {
		const feed = await feedOf((_request, response) => response.write(EVENTS), 50);
		const { view, lost } = followed(feed);
		expect(await view).toMatchObject({ services: [] });
		expect((await lost).message).toContain('does not answer: it sent nothing for 50 ms');
	});

	it.each(['{}', '5', 'null', '{"overview":{},"services":{},"connections":{},"changes":[]}'])(
		'takes no other JSON for a status: %s',
		async (body) => {
			const feed = await feedOf((_request, response) => response.end(body), 5000);
			await expect(feed.view()).rejects.toThrow('is not the admin server of a sidecar');
		},
	);
});
