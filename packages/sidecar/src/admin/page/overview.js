import { byId, element, setAttribute, setText } from './dom.js';
import { age, bytes, whole } from './format.js';
import { quantile } from './latency.js';

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

/** Shows the process as a whole. */
export function showOverview(overview) {
	const { sidecar, pid, phase, ready, reasons, backend, instance } = overview;
	const phaseTag = byId('phase');
	setText(phaseTag, ready || phase !== 'serving' ? phase : 'not ready');
	setAttribute(phaseTag, 'class', `tag ${ready ? (reasons.length > 0 ? 'warn' : 'good') : 'bad'}`);
	setText(byId('identity'), `${sidecar.replace(/^@spock\/sidecar\//, 'version ')}, pid ${pid}, ${instance}`);
	for (const [name, read] of FIGURES) setFigure(name, read(overview));
	const members = backend.members ?? [backend];
	for (const member of members) {
		const { name, state, lastSuccessAgeMs } = member;
		setFigure(`Registry: ${name}`, state, BACKEND_WORDS[state]);
		const heard = lastSuccessAgeMs === null || state === 'up' ? '' : `heard ${age(lastSuccessAgeMs)} ago`;
		setText(values.get(`Registry: ${name}`).note, heard);
	}
	const errors = members.filter(({ error }) => error !== null).map(({ name, error }) => `${name}: ${error}`);
	const notices = [...new Set([...reasons, ...errors])];
	const list = byId('notices');
	if (notices.join('\n') !== [...list.children].map(({ textContent }) => textContent).join('\n')) {
		list.replaceChildren(...notices.map((notice) => element('li', {}, notice)));
	}
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
