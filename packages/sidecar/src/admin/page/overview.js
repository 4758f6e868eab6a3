import { byId, element, setAttribute, setText } from './dom.js';
import { age, bytes, duration, plural, time, whole } from './format.js';

const FIGURES = [
	['Requests/s', ({ rates }) => (rates === null ? '–' : whole(rates.requests))],
	['p99', ({ latency }) => quantile(latency, 0.99)],
	['In flight', ({ inFlight }) => whole(inFlight)],
	['Read/s', ({ rates }) => (rates === null ? '–' : bytes(rates.bytesRead))],
	['Written/s', ({ rates }) => (rates === null ? '–' : bytes(rates.bytesWritten))],
	['Connections', ({ connections }) => whole(connections)],
	['Subscriptions', ({ subscriptions }) => whole(subscriptions)],
	['Services', ({ services }) => whole(services)],
	['Keys', ({ keys }) => whole(keys)],
	['Registered', ({ registrations }) => whole(registrations)],
	['Up', ({ at, startedAt }) => age(at - startedAt)],
];

const BACKEND_WORDS = { up: 'good', connecting: 'warn', down: 'bad' };

const values = new Map();

/** Shows the process as a whole, and how long its requests take. */
export function showOverview(overview) {
	const { sidecar, host, pid, phase, ready, reasons, backend, instance, latency, failure } = overview;
	showLatency(latency);
	byId('events').hidden = !overview.hasEvents;
	const phaseTag = byId('phase');
	const outage = outageSentence(failure);
	const serving = ready ? (outage === '' ? phase : `${phase}, registry down`) : 'not ready';
	setText(phaseTag, phase === 'serving' ? serving : phase);
	setAttribute(phaseTag, 'class', `tag ${ready ? (outage !== '' || reasons.length > 0 ? 'warn' : 'good') : 'bad'}`);
	setText(byId('host'), host);
	setText(byId('registry'), [backend.name, ...backend.addresses].join(' '));
	setText(byId('identity'), `${sidecar.replace(/^@spock\/sidecar\//, 'version ')}, pid ${pid}, ${instance}`);
	for (const [name, read] of FIGURES) setFigure(name, read(overview));
	const members = backend.members ?? [backend];
	for (const member of members) {
		const { name, state, lastSuccessAgeMs, addressStatus = [] } = member;
		const failing = addressStatus.filter((one) => one.state === 'down' || one.state === 'no-leader').length;
		const isWhole = ready && failing === 0;
		setFigure(`Registry: ${name}`, state, state === 'up' && !isWhole ? 'warn' : BACKEND_WORDS[state]);
		const since = lastSuccessAgeMs === null || state === 'up' ? '' : `for ${age(lastSuccessAgeMs)}`;
		const answering = `${addressStatus.length - failing} of ${addressStatus.length} addresses`;
		setText(values.get(`Registry: ${name}`).note, [since, addressStatus.length > 1 ? answering : ''].join(' ').trim());
		setAddresses(name, addressStatus.length > 1 ? addressStatus : []);
	}
	for (const { upstream } of members) if (upstream !== undefined) showUpstream(upstream);
	showNotices(outage, reasons, failure?.errors ?? []);
}

/** Each text once: what apps get in an outage, why it is not ready, and what fails. */
function showNotices(outage, reasons, errors) {
	const others = reasons.filter((reason) => !errors.some((error) => reason.includes(error)));
	const notices = [outage, ...others, ...errors].filter((notice) => notice !== '');
	const list = byId('notices');
	if (notices.join('\n') === [...list.children].map(({ textContent }) => textContent).join('\n')) return;
	list.replaceChildren(
		...notices.map((notice) => element('li', { class: notice === outage ? 'outage' : undefined }, notice)),
	);
}

/** Which registry does not answer, since when, and what apps get; empty while each answers. */
export function outageSentence(failure) {
	if (failure === null || failure.registries.length === 0) return '';
	const who = failure.registries.map(({ name, since, isLeaderless }) => {
		if (isLeaderless && since !== null) return `${name} has no leader since ${time(since)}`;
		return since === null ? `${name} has not answered yet` : `${name} has not answered since ${time(since)}`;
	});
	return [who.join(', '), failure.effect].filter((part) => part !== '').join(': ');
}

/** Each address of a registry that has several, in the hint of its figure. */
function setAddresses(name, addressStatus) {
	const lines = addressStatus.map(({ address, state, isAsked, lastSuccessAgeMs, error }) => {
		const answered = lastSuccessAgeMs === null ? 'no answer yet' : `last answer ${age(lastSuccessAgeMs)} ago`;
		return `${address}: ${state}${isAsked ? ', asked now' : ''}, ${answered}${error === null ? '' : `: ${error}`}`;
	});
	setAttribute(values.get(`Registry: ${name}`).note, 'title', lines.join('\n'));
}

/** The sidecar that is asked in place of a registry, and how often another one took over. */
function showUpstream({ address, subscriptions, failovers }) {
	setFigure('Upstream', address ?? 'none answers', address === null ? 'bad' : 'good');
	setText(values.get('Upstream').note, `${subscriptions} subscribed, ${failovers} failovers`);
}

function setFigure(name, text, word = '') {
	let figure = values.get(name);
	if (figure === undefined) {
		figure = { value: element('span'), note: element('small') };
		values.set(name, figure);
		const described = element('dd', {}, figure.value, ' ', figure.note);
		byId('figures').append(element('div', {}, element('dt', {}, name), described));
	}
	setText(figure.value, text);
	setAttribute(figure.value, 'class', word);
}

/** Bounds that are written below their bars. */
const LABELLED_MS = new Set([0.01, 0.1, 1, 10, 100, 1000]);

let bars;

/** The recent requests, or all since the start until there are any recent ones. */
function shown({ recent, total, recentMs }) {
	return recentMs > 0 ? recent : total;
}

/** The bound below which this part of the requests was answered; a dash if there were none. */
function quantile(latency, part) {
	const counts = shown(latency);
	const all = counts.reduce((sum, count) => sum + count, 0);
	if (all === 0) return '–';
	let sum = 0;
	const index = counts.findIndex((count) => {
		sum += count;
		return sum >= all * part;
	});
	const { boundsMs } = latency;
	return index < boundsMs.length ? `≤ ${duration(boundsMs[index])}` : `> ${duration(boundsMs.at(-1))}`;
}

/** Shows how long requests take. */
function showLatency(latency) {
	const { boundsMs, recentMs, total } = latency;
	const counts = shown(latency);
	const all = counts.reduce((sum, count) => sum + count, 0);
	const most = Math.max(1, ...counts);
	setText(
		byId('latency-window'),
		`${plural(all, 'request')} ${recentMs > 0 ? `in the last ${age(recentMs)}` : 'since the start'}`,
	);
	bars ??= makeBars(boundsMs);
	for (const [index, { bar, cells }] of bars.entries()) {
		const count = counts[index];
		// A few among millions are still to be seen.
		const height = count === 0 ? 0 : Math.max(3, (count / most) * 100);
		bar.style.blockSize = `${height}%`;
		bar.classList.toggle('zero', count === 0);
		setAttribute(bar.parentElement, 'title', `up to ${boundName(boundsMs, index)}: ${plural(count, 'request')}`);
		setText(cells.recent, recentMs > 0 ? whole(latency.recent[index]) : '–');
		setText(cells.total, whole(total[index]));
	}
	for (const [name, part] of [
		['p50', 0.5],
		['p90', 0.9],
		['p99', 0.99],
		['p99.9', 0.999],
	]) {
		setText(quantileNode(name), quantile(latency, part));
	}
}

function boundName(boundsMs, index) {
	return index < boundsMs.length ? duration(boundsMs[index]) : 'any time';
}

function makeBars(boundsMs) {
	const rows = [];
	const made = Array.from({ length: boundsMs.length + 1 }, (_, index) => {
		const bar = element('i');
		const label = LABELLED_MS.has(boundsMs[index]) ? duration(boundsMs[index]) : '';
		byId('bars').append(element('div', { class: 'bar' }, bar, element('span', {}, label)));
		const cells = { recent: element('td', { class: 'number' }), total: element('td', { class: 'number' }) };
		rows.push(
			element('tr', {}, element('th', { scope: 'row' }, boundName(boundsMs, index)), cells.recent, cells.total),
		);
		return { bar, cells };
	});
	byId('latency-table').tBodies[0].replaceChildren(...rows);
	return made;
}

const quantileNodes = new Map();

function quantileNode(name) {
	let node = quantileNodes.get(name);
	if (node === undefined) {
		node = element('dd');
		quantileNodes.set(name, node);
		byId('quantiles').append(element('div', {}, element('dt', {}, name), node));
	}
	return node;
}
