'use strict';

// Threads that wait for their clients, next to an event loop that waits for none. In one step a
// thread answers one request. A busy client sends its request at once; a silent one never does.
const slowClient = (() => {
    const busy = client => client?.kind === 'busy';
    const silent = client => client?.kind === 'silent';

    // What each thread works on (null for nothing), and where all other clients are.
    const idleServer = threads => ({
        threads: Array(threads).fill(null), waiting: [], watched: [], answered: [],
    });

    // A thread that has a busy client answers it, and takes the next one that waits. A thread that
    // has a silent client stays with it.
    function advance(server) {
        const answered = [...server.answered, ...server.threads.filter(busy)];
        const waiting = [...server.waiting];
        const threads = server.threads.map(
            client => silent(client) ? client : waiting.shift() ?? null);
        return {...server, threads, waiting, answered};
    }

    // Both servers after `steps` steps. A client arrives at step `at`, the same one at both. Only
    // the loop leaves it to the kernel to watch a client that has sent nothing.
    function stateAt({threads, clients}, steps) {
        let pool = idleServer(threads), loop = idleServer(1);
        for (let step = 0; ; step++) {
            const arrived = clients.filter(client => client.at === step);
            pool.waiting.push(...arrived);
            loop.waiting.push(...arrived.filter(busy));
            loop.watched.push(...arrived.filter(silent));
            if (step === steps) return {pool, loop};
            pool = advance(pool);
            loop = advance(loop);
        }
    }

    function add(inputs, kind, at) {
        const clients = [...inputs.clients, {id: inputs.clients.length + 1, kind, at}];
        return {...inputs, clients};
    }

    // From here on, the drawing. `data-key` names what moves from one place to another.
    const SHOWN = 5;  // clients in one row; the others are only counted

    const chip = (client, place) =>
        `<span class="client ${client.kind}" role="img" data-key="${place}-${client.id}"
            aria-label="client ${client.id}, ${client.kind}">${client.id}</span>`;

    const row = (label, content, kind = '') =>
        `<div class="row ${kind}"><dt>${label}</dt><dd>${content}</dd></div>`;

    function chips(clients, place) {
        const more = clients.length - SHOWN;
        return clients.slice(0, SHOWN).map(client => chip(client, place)).join('')
            + (more > 0 ? `<span>+ ${more}</span>` : '') || '–';
    }

    function work(client, place) {
        if (!client) return place === 'loop' ? 'asleep in epoll_wait' : 'idle';
        return chip(client, place) + (busy(client) ? 'answers' : 'blocked in recv');
    }

    function panel(title, server, place, rows) {
        const threads = server.threads.map((client, i) =>
            row(server.threads.length > 1 ? `Thread ${i + 1}` : 'The thread', work(client, place),
                silent(client) ? 'blocked' : ''));
        const latest = server.answered.slice(-SHOWN).reverse();
        return `<div class="panel"><p class="title">${title}</p><dl>${rows}${threads.join('')}
            ${row('Answered', `<span class="count">${server.answered.length}</span>`
                + latest.map(client => chip(client, place)).join(''))}</dl></div>`;
    }

    function draw({pool, loop}) {
        const threads = pool.threads.length;
        return '<div class="panels">'
            + panel(threads === 1 ? 'A thread that waits' : `${threads} threads that wait`, pool,
                'pool', row('In the queue', chips(pool.waiting, 'pool')))
            + panel('An event loop', loop, 'loop', row('Ready', chips(loop.waiting, 'loop'))
                + row('Watched', chips(loop.watched, 'loop')))
            + '</div>';
    }

    function report({pool, loop}) {
        const blocked = pool.threads.filter(silent).length, all = pool.threads.length;
        if (blocked === 0) return 'No thread is blocked.';
        if (blocked < all) {
            return `${blocked} of ${all} threads blocked. The rest serve the other clients.`;
        }
        return `Every thread is blocked, so the other clients wait (${pool.waiting.length}). The`
            + ` loop has answered ${loop.answered.length}, and its silent clients cost only memory.`;
    }

    return {
        stateAt, draw, report,
        start: () => ({
            threads: 2,
            clients: ['busy', 'silent', 'busy'].map((kind, i) => ({id: i + 1, kind, at: 0})),
        }),
        buttons: {
            '+ Busy client': (inputs, step) => add(inputs, 'busy', step),
            '+ Silent client': (inputs, step) => add(inputs, 'silent', step),
        },
        place: steps => `Step ${steps}`,
        slider: {input: 'threads', label: 'Threads', unit: '', min: 1, max: 4, step: 1},
        last: Infinity, stride: 1, interval: 800,  // a press of Step makes `stride` steps
    };
})();
