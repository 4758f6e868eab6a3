import { ClientDetail } from './client-detail.js';
import { element, setAttribute, setText } from './dom.js';
import { Expander } from './expander.js';
import { age, bytes, clientName, HEALTH_WORDS, moment, whole } from './format.js';

const PROBLEMS = {
	silent: ['silent', 'bad', 'it has missed three of its heartbeats: stopped, blocked, or its machine is gone'],
	slow: ['reads too slowly', 'bad', 'it has too much unread output, is not read any more, and will be closed'],
	behind: ['behind', 'warn', 'it has more than 1 MiB of unread output, and pushes wait'],
	'not-registered': ['not registered', 'warn', 'the registry does not know an instance that it registers'],
	critical: ['reports critical', 'bad', 'it reports an instance of its own as critical'],
	oversize: ['answer too long', 'warn', 'an answer does not fit into its frames: it has an older one'],
	narrowed: ['narrowed', 'warn', 'the sidecar is overloaded, and lets it have fewer requests in flight'],
};
/** Instances of its own that are named in the row. */
const NAMED_MAX = 2;

/** A problem of a client in words. */
export function problemText(problem) {
	return PROBLEMS[problem]?.[0] ?? problem;
}

/** What a person should look at first has the smallest number. */
export function severityOf({ problems }) {
	if (problems.length === 0) return 2;
	return problems.some((problem) => PROBLEMS[problem]?.[1] === 'bad') ? 0 : 1;
}

let rowCount = 0;

/** One client: its row, and below it what it subscribes to, when it is expanded. */
export class ClientRow {
	#client;
	#cells;
	#expander;

	constructor(columns) {
		const cell = (label, words = '') => element('td', { class: words || undefined, 'data-name': label });
		const name = element('span', { class: 'name' });
		const peer = element('span', { class: 'found quiet' });
		this.#expander = new Expander(`client-${++rowCount}`, [name], (id) => {
			const detail = new ClientDetail(id, columns);
			detail.show(this.#client);
			return detail;
		});
		this.#cells = {
			state: cell('State'),
			services: cell('Services', 'number'),
			keys: cell('Keys', 'number optional'),
			registered: cell('Registered', 'registered'),
			calls: cell('Calls/s', 'number'),
			unread: cell('Unread', 'number optional'),
			since: cell('Since', 'number'),
		};
		const head = element('th', { scope: 'row' }, this.#expander.button, peer);
		this.#expander.attach(element('tr', { class: 'row client' }, head, ...Object.values(this.#cells)));
		Object.assign(this.#cells, { name, peer });
	}

	get body() {
		return this.#expander.body;
	}

	get isOpen() {
		return this.#expander.isOpen;
	}

	show(client) {
		this.#client = client;
		const { id, pid, transport, address, certificate, problems, services, keys, rates, outputBytes } = client;
		const cells = this.#cells;
		const named = clientName(client.client);
		setText(cells.name, named);
		const library = client.library === null || client.library === client.client ? '' : clientName(client.library);
		setAttribute(this.#expander.button, 'title', named);
		cells.name.classList.toggle('quiet', client.client === null);
		const where = address === null ? '' : `${address}${transport === 'tls' ? ' by TLS' : ''}`;
		const peer = [
			library,
			`no. ${id}`,
			pid === null ? '' : `pid ${pid}`,
			where,
			certificate === null ? '' : `as ${certificate}`,
		];
		setText(cells.peer, peer.filter(Boolean).join(', '));
		const known = problems.map((problem) => PROBLEMS[problem] ?? [problem, 'warn', problem]);
		setText(cells.state, known.length === 0 ? 'fine' : known.map(([text]) => text).join(', '));
		setAttribute(cells.state, 'class', `state ${['bad', 'warn', 'good'][severityOf(client)]}`);
		setAttribute(cells.state, 'title', known.map(([, , why]) => why).join('; '));
		setNumber(cells.services, services, whole);
		setNumber(cells.keys, keys, whole);
		setNumber(cells.calls, rates?.requests ?? 0, (count) => (rates === null ? '–' : whole(count)));
		setNumber(cells.unread, outputBytes, bytes);
		this.#showRegistered();
		this.showAges(Date.now());
		this.#expander.detail?.show(client);
	}

	showAges(nowMs) {
		const { since } = this.#cells;
		setText(since, age(nowMs - this.#client.openedAt));
		setAttribute(since, 'title', moment(this.#client.openedAt));
		// Services change by themselves.
		this.#expander.detail?.refresh();
	}

	#showRegistered() {
		const { registered, registeredCount } = this.#client;
		const { registered: cell } = this.#cells;
		const rest = registeredCount - Math.min(registered.length, NAMED_MAX);
		const shown = registered.slice(0, NAMED_MAX);
		const text = `${shown.map(({ service, state, status }) => `${service} ${state} ${status}`).join()} ${rest}`;
		cell.classList.toggle('zero', registeredCount === 0);
		if (cell.dataset.shown === text) return;
		cell.dataset.shown = text;
		const names = shown.map(({ id, service, state, status }) => {
			const word = state === 'registered' ? (HEALTH_WORDS[status] ?? '') : 'warn';
			return element('span', { class: word, title: `${id}: ${state}, ${status}` }, service);
		});
		const parts = names.flatMap((name, index) => (index === 0 ? [name] : [', ', name]));
		cell.replaceChildren(...(names.length === 0 ? ['–'] : parts), ...(rest > 0 ? [` and ${whole(rest)} more`] : []));
	}
}

/** A zero is left out where there is little room. */
function setNumber(cell, count, format) {
	setText(cell, count === 0 ? '–' : format(count));
	cell.classList.toggle('zero', count === 0);
}
