'use strict';

// Two themes are styled; mdBook calls the dark one after the colour of its own.
document.getElementById('mdbook-theme-navy').textContent = 'Dark';

// A keyboard gets past the sidebar with one key.
const skip = document.createElement('a');
skip.className = 'skip';
skip.href = '#mdbook-content';
skip.textContent = 'Skip to the text';
document.body.prepend(skip);
document.getElementById('mdbook-content').tabIndex = -1;

// mdBook tells of a label that it is expanded, as only a button may be.
document.getElementById('mdbook-sidebar-toggle')?.setAttribute('role', 'button');

// A box that scrolls shows it, and can be scrolled from the keyboard.
const boxes = document.querySelectorAll('pre > code, .table-wrapper, .scroll');

function markScrolling() {
    boxes.forEach(box => {
        const more = box.scrollWidth - box.clientWidth;
        box.classList.toggle('scrolls', more > 1);
        box.classList.toggle('at-end', more > 1 && box.scrollLeft >= more - 1);
        if (more > 1) box.tabIndex = 0;
    });
}

boxes.forEach(box => box.addEventListener('scroll', markScrolling, {passive: true}));
document.querySelectorAll('details').forEach(fold => fold.addEventListener('toggle', markScrolling));
addEventListener('resize', markScrolling);
markScrolling();

// On paper nothing can be unfolded.
const folds = document.querySelectorAll('main details');
const paper = matchMedia('print');

function unfold() {
    folds.forEach(fold => {
        if (!fold.open) {
            fold.dataset.closed = '';
            fold.open = true;
        }
    });
}

function foldAgain() {
    folds.forEach(fold => {
        if ('closed' in fold.dataset) {
            delete fold.dataset.closed;
            fold.open = false;
        }
    });
}

addEventListener('beforeprint', unfold);
addEventListener('afterprint', foldAgain);
paper.addEventListener('change', () => paper.matches ? unfold() : foldAgain());

// What a link or a search leads to may be folded: the words that were looked for are marked by then.
function openAround(element) {
    for (let fold = element?.closest('details'); fold; fold = fold.parentElement.closest('details')) {
        fold.open = true;
    }
}

function openWhereWeLand() {
    const id = decodeURIComponent(location.hash.slice(1));
    openAround(id ? document.getElementById(id) : null);
    document.querySelectorAll('main mark').forEach(openAround);
}

addEventListener('load', openWhereWeLand);
addEventListener('hashchange', openWhereWeLand);

// What the reader has ticked is kept in this browser, and marked in the sidebar.
const DONE = 'hotpath-done';
const here = document.querySelector('#mdbook-sidebar a.active');
const chapterOf = link => link.getAttribute('href').split('/').pop().replace(/^\d+-|\.html$/g, '');
const isToDo = link => /^\d+\. /.test(link.textContent.trim()) || /(^|\/)labs\//.test(link.href);

function done() {
    try {
        return new Set(JSON.parse(localStorage.getItem(DONE) || '[]'));
    } catch {
        return new Set();
    }
}

function showProgress() {
    const ticked = done();
    document.querySelectorAll('#mdbook-sidebar a').forEach(link => {
        if (isToDo(link)) link.classList.toggle('done', ticked.has(chapterOf(link)));
    });
}

function offerTick() {
    const label = document.createElement('label');
    const box = document.createElement('input');
    label.className = 'tick';
    box.type = 'checkbox';
    box.checked = done().has(chapterOf(here));
    box.addEventListener('change', () => {
        const ticked = done();
        ticked[box.checked ? 'add' : 'delete'](chapterOf(here));
        localStorage.setItem(DONE, JSON.stringify([...ticked]));
        showProgress();
    });
    label.append(box, ' I have worked through this chapter');
    document.querySelector('main').append(label);
}

if (here && isToDo(here)) offerTick();
showProgress();

// Where the arrows lead, by name.
document.querySelectorAll('.nav-chapters, .mobile-nav-chapters').forEach(arrow => {
    const link = [...document.querySelectorAll('#mdbook-sidebar a')].find(a => a.href === arrow.href);
    if (!link) return;
    const name = link.textContent.trim();
    const way = arrow.rel.includes('next') ? 'Next' : 'Previous';
    arrow.title = `${way}: ${name}`;
    arrow.setAttribute('aria-label', arrow.title);
    if (arrow.classList.contains('mobile-nav-chapters')) {
        const shown = document.createElement('span');
        shown.textContent = name;
        arrow.append(shown);
    }
});
