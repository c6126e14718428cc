#!/usr/bin/env bash
# On the GPU machine, from the repository root: gpu.sh unpack PARTS | gpu.sh run SECONDS | gpu.sh pack
# .gpukit/pNN/part.NN travel one a call into ~/parts (gpu.sh keep); `unpack` joins them; `run` goes on with the plan; what is new is packed into $OUT.
set -u
K=/root/kit W=/root/work
case $1 in
    keep) mkdir -p /root/parts; mv .gpukit/p*/part.* /root/parts/; ls /root/parts | wc -l ;;
    unpack)
        [ "$(ls /root/parts/part.* | wc -l)" = "$2" ] || { echo "parts here:"; ls /root/parts; exit 1; }
        cd /root/parts && cat part.* | tar xf - && rm -f part.*
        mkdir -p "$K" /root/site
        for f in p*.tar.xz; do python3 -c "import sys,tarfile; tarfile.open(sys.argv[1]).extractall('/root/site', filter='fully_trusted')" "$f" & done
        python3 -c "import tarfile; tarfile.open('/root/parts/kit.tar.xz').extractall('$K', filter='fully_trusted')" &
        wait
        echo /root/site > "$(python3 -c 'import site; print(site.getsitepackages()[0])')/zz_kit.pth"
        python3 "$K/gpu_model.py" /root/l8b "$K/tokenizer"
        ls "$K" /root/l8b; "$K/intriage" --version; python3 -c "import numba; print(\"numba\", numba.__version__)"; nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
        ;;
    run)
        mkdir -p "$W"
        PYTHONUNBUFFERED=1 python3 "$K/runner.py" "$K/plan.json" "$W" --intriage "$K/intriage" --seconds "$2" --keep-server
        ;;
    pack)
        cd "$W" || exit 0
        touch sent
        new=$(ls items | grep -v -x -F -f sent || true)
        [ -n "$new" ] || exit 0
        # shellcheck disable=SC2086
        (cd items && tar cf - $new) | python3 -c "import sys,lzma; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=2))" > /root/new.tar.xz
        split -b 15M -d /root/new.tar.xz "$OUT/items.tar.xz." && printf '%s\n' $new >> sent
        tail -c 60000 server-*.log | xz -c > "$OUT/servers.log.xz" 2>/dev/null || true
        ls -l "$OUT"
        ;;
esac
