import type { ServerResponse } from 'node:http';

import type { Clock } from '@spock/protocol/internal';

import { type AdminPage, type AdminSite, jsonPage } from './admin-page.ts';
import { type StatusModel, type StatusSample, viewOf } from './status-model.ts';
import { StatusStreams } from './status-streams.ts';

/** A file of the page: its path, type and text. */
export interface PageFile {
	readonly type: string;
	readonly body: string;
}

/** What a {@link StatusSite} is made of. */
export interface StatusSiteOptions {
	readonly model: Pick<StatusModel, 'current' | 'detail'>;
	/** By path. */
	readonly files: ReadonlyMap<string, PageFile>;
	readonly clock: Clock;
	/** Told of a fault of ours in a stream. */
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
		const { model, files } = this.#options;
		if (path === '/status.json') return this.#view();
		if (path === '/service.json') {
			const detail = model.detail(query.get('key') ?? '');
			return detail === undefined
				? jsonPage(404, {
						error: 'no client watches this service: /status.json lists the keys of those that are watched',
					})
				: jsonPage(200, detail);
		}
		if (path === this.streamPath) return { status: 200, type: 'text/event-stream', body: '' };
		const file = files.get(path);
		return file && { status: 200, ...file };
	}

	/** Made once for each sample: who asks all the time is given the same text. */
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
