import { addChanges, clearChanges, filterChanges } from './changes.js';
import { filterClients, showClientAges, showClients } from './clients.js';
import { byId, setAttribute, setText } from './dom.js';
import { showEventAges, showEvents } from './events.js';
import { time } from './format.js';
import { showKeys, showRegistrations } from './lists.js';
import { outageSentence, showOverview } from './overview.js';
import { filterServices, showServiceAges, takeServices } from './services.js';
import { follow } from './stream.js';
import { followTabs, showView, view } from './tabs.js';

const LINK_TEXTS = {
	connecting: 'Connecting',
	live: 'Connected',
	lost: 'Connection lost, trying again',
	paused: 'Paused while hidden',
};

const filter = byId('filter');
const problems = byId('problems');

/** The last report of the process, and whether it can be trusted now. */
let last;
let linkState;
const isLive = () => linkState === 'live';

/** Parts of which the next event tells everything. */
const whole = new Set();

const parts = {
	overview: (overview) => {
		last = overview;
		showOverview(overview);
		showTitle();
	},
	services: (services, isAll) => takeServices(services, isAll),
	connections: showClients,
	events: showEvents,
	registrations: showRegistrations,
	keys: showKeys,
	changes: (changes, isAll) => {
		if (isAll) clearChanges();
		addChanges(changes);
	},
};

follow({
	began: () => {
		for (const part of Object.keys(parts)) whole.add(part);
	},
	received: (part, data) => parts[part](data, whole.delete(part)),
	state: (state) => {
		linkState = state;
		setAttribute(document.body, 'data-state', state);
		setText(
			byId('link-text'),
			isLive() || last === undefined ? LINK_TEXTS[state] : `${LINK_TEXTS[state]}, as of ${time(last.at)}`,
		);
		showTitle();
	},
});

/** So that tabs can be distinguished, and trouble is seen in a tab behind. */
function showTitle() {
	if (last === undefined) return;
	document.title = `${[troubleOf(last), last.host].filter(Boolean).join(': ')} – Spock`;
}

function troubleOf({ at, ready, phase, failure }) {
	if (!isLive()) return `as of ${time(at)}`;
	if (!ready) return phase === 'serving' ? 'not ready' : phase;
	return outageSentence(failure) === '' ? '' : 'registry down';
}

function showFiltered() {
	const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
	filterServices(words, problems.checked);
	filterClients(words, problems.checked);
	filterChanges(words);
}

/** Kept in the address of the page: a reload or a link shows the same. */
function keepInAddress() {
	const query = new URLSearchParams();
	if (view !== 'services') query.set('view', view);
	if (filter.value.trim() !== '') query.set('filter', filter.value.trim());
	if (problems.checked) query.set('problems', '1');
	history.replaceState(null, '', `${location.pathname}${query.size > 0 ? `?${query}` : ''}${location.hash}`);
}

function applyFilter() {
	keepInAddress();
	showFiltered();
}

const asked = new URLSearchParams(location.search);
filter.value = asked.get('filter') ?? '';
problems.checked = asked.has('problems');
showView(asked.get('view'));
showFiltered();

followTabs(applyFilter);
filter.addEventListener('input', applyFilter);
problems.addEventListener('change', applyFilter);

document.addEventListener('keydown', (event) => {
	const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'checkbox';
	if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
		event.preventDefault();
		filter.focus();
		filter.select();
	}
	if (event.key === 'Escape' && event.target === filter && filter.value !== '') {
		filter.value = '';
		applyFilter();
	}
});

setInterval(() => {
	// What is lost gets no older: it is as of then.
	if (document.hidden || !isLive()) return;
	const nowMs = Date.now();
	showServiceAges(nowMs);
	showClientAges(nowMs);
	showEventAges(nowMs);
}, 1000);
