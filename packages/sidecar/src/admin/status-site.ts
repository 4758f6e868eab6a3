/// <reference path="./raw-files.d.ts" />
import type { ServerResponse } from 'node:http';

import type { Clock } from '@spock/protocol/internal';

import { type AdminPage, type AdminSite, jsonPage } from './admin-page.ts';
// Read at the build and kept as text in the program: no file can be missing beside it, whatever it is packed into.
import changesScript from './page/changes.js?raw';
import clientDetailScript from './page/client-detail.js?raw';
import clientRowScript from './page/client-row.js?raw';
import clientsStyle from './page/clients.css?raw';
import clientsScript from './page/clients.js?raw';
import columnsScript from './page/columns.js?raw';
import domScript from './page/dom.js?raw';
import eventsScript from './page/events.js?raw';
import expanderScript from './page/expander.js?raw';
import formatScript from './page/format.js?raw';
import icon from './page/icon.svg?raw';
import html from './page/index.html?raw';
import listsScript from './page/lists.js?raw';
import mainScript from './page/main.js?raw';
import overviewScript from './page/overview.js?raw';
import pageStyle from './page/page.css?raw';
import panelsStyle from './page/panels.css?raw';
import partsStyle from './page/parts.css?raw';
import detailScript from './page/service-detail.js?raw';
import rowScript from './page/service-row.js?raw';
import servicesScript from './page/services.js?raw';
import streamScript from './page/stream.js?raw';
import tablesStyle from './page/tables.css?raw';
import tabsScript from './page/tabs.js?raw';
import { type StatusModel, type StatusSample, viewOf } from './status-model.ts';
import { StatusStreams } from './status-streams.ts';

/** A file of the page: its path, type and text. */
interface PageFile {
	readonly type: string;
	readonly body: string;
}

const script = (body: string): PageFile => ({ type: 'text/javascript; charset=utf-8', body });
const style = (body: string): PageFile => ({ type: 'text/css; charset=utf-8', body });

/** The files of the status page, by their path. */
const pageFiles: ReadonlyMap<string, PageFile> = new Map([
	['/', { type: 'text/html; charset=utf-8', body: html }],
	['/page/icon.svg', { type: 'image/svg+xml', body: icon }],
	// One request in the place of five: nothing is drawn before it.
	['/page/style.css', style([pageStyle, panelsStyle, tablesStyle, partsStyle, clientsStyle].join('\n'))],
	['/page/lists.js', script(listsScript)],
	['/page/main.js', script(mainScript)],
	['/page/changes.js', script(changesScript)],
	['/page/client-detail.js', script(clientDetailScript)],
	['/page/client-row.js', script(clientRowScript)],
	['/page/clients.js', script(clientsScript)],
	['/page/columns.js', script(columnsScript)],
	['/page/tabs.js', script(tabsScript)],
	['/page/dom.js', script(domScript)],
	['/page/events.js', script(eventsScript)],
	['/page/expander.js', script(expanderScript)],
	['/page/format.js', script(formatScript)],
	['/page/overview.js', script(overviewScript)],
	['/page/service-detail.js', script(detailScript)],
	['/page/service-row.js', script(rowScript)],
	['/page/services.js', script(servicesScript)],
	['/page/stream.js', script(streamScript)],
]);

/** What a {@link StatusSite}is made of. */
export interface StatusSiteOptions {
	readonly model: Pick<StatusModel, 'current' | 'detail' | 'client'>;
	readonly clock: Clock;
	/** Receives bugs of ours in a stream. */
	readonly failed: (error: unknown) => void;
}

/** The status page, the JSON it is made of, and its events. */
export class StatusSite implements AdminSite {
	readonly streamPath = '/events';
	readonly #options: StatusSiteOptions;
	readonly #streams: StatusStreams;
	#text: { readonly sample: StatusSample; readonly page: AdminPage } | undefined;

	constructor(options: StatusSiteOptions) {
		this.#options = options;
		this.#streams = new StatusStreams(options.model, options.clock, options.failed);
	}

	page(path: string, query: URLSearchParams): AdminPage | undefined {
		const { model } = this.#options;
		if (path === '/status.json') return this.#view();
		if (path === '/service.json') {
			const detail = model.detail(query.get('key') ?? '');
			return detail === undefined
				? jsonPage(404, {
						error: 'no client watches this service: /status.json lists the keys of those that are watched',
					})
				: jsonPage(200, detail);
		}
		if (path === '/client.json') {
			const client = model.client(Number(query.get('id') ?? Number.NaN));
			return client === undefined
				? jsonPage(404, { error: 'no client has this number: /status.json lists those that are connected' })
				: jsonPage(200, client);
		}
		if (path === this.streamPath) return { status: 200, type: 'text/event-stream', body: '' };
		const file = pageFiles.get(path);
		return file && { status: 200, ...file };
	}

	/** Made once for each sample: frequent callers get the same text. */
	#view(): AdminPage {
		const { model } = this.#options;
		const sample = model.current();
		if (this.#text?.sample !== sample) this.#text = { sample, page: jsonPage(200, viewOf(sample)) };
		return this.#text.page;
	}

	stream(response: ServerResponse): AdminPage | undefined {
		return this.#streams.open(response);
	}

	close(): void {
		this.#streams.close();
	}
}
