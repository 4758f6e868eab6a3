/// <reference path="./raw-files.d.ts" />
// Read at the build and kept as text in the program: no file can be missing beside it, whatever it is packed into.
import changesScript from './page/changes.js?raw';
import connectionsScript from './page/connections.js?raw';
import domScript from './page/dom.js?raw';
import formatScript from './page/format.js?raw';
import icon from './page/icon.svg?raw';
import html from './page/index.html?raw';
import latencyScript from './page/latency.js?raw';
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
import type { PageFile } from './status-site.ts';

const script = (body: string): PageFile => ({ type: 'text/javascript; charset=utf-8', body });
const style = (body: string): PageFile => ({ type: 'text/css; charset=utf-8', body });

/** The files of the status page, by their path. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map([
	['/', { type: 'text/html; charset=utf-8', body: html }],
	['/page/icon.svg', { type: 'image/svg+xml', body: icon }],
	['/page/page.css', style(pageStyle)],
	['/page/panels.css', style(panelsStyle)],
	['/page/parts.css', style(partsStyle)],
	['/page/tables.css', style(tablesStyle)],
	['/page/main.js', script(mainScript)],
	['/page/changes.js', script(changesScript)],
	['/page/connections.js', script(connectionsScript)],
	['/page/dom.js', script(domScript)],
	['/page/format.js', script(formatScript)],
	['/page/latency.js', script(latencyScript)],
	['/page/overview.js', script(overviewScript)],
	['/page/service-detail.js', script(detailScript)],
	['/page/service-row.js', script(rowScript)],
	['/page/services.js', script(servicesScript)],
	['/page/stream.js', script(streamScript)],
]);
