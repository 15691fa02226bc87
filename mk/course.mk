# course.mk - autograders for course servers. The results of the grader in other formats:
# tools/export. Handouts: mk/labs.mk.
#   LAB=03   LEADERBOARD=1: points, structure and memory traffic, for all to see
LAB         ?=
LEADERBOARD ?=
COURSE_LAB  := lab$(patsubst lab%,%,$(LAB))
COURSE      := build/course
one_lab      = $(if $(filter $(LABS),$(COURSE_LAB)),,\
    echo "make $@ LAB=03: LAB names one of $(LABS)" >&2; exit 1;)
leaderboard  = $(if $(filter 1,$(LEADERBOARD)),--leaderboard)

gradescope: | setup  ## course: an autograder to upload to Gradescope: make gradescope LAB=03
	@$(one_lab) mkdir -p $(COURSE)/gradescope
	@cp tools/course/gradescope/* $(COURSE)/gradescope/
	@printf 'lab=%s\nleaderboard=%s\n' $(COURSE_LAB) "$(leaderboard)" >$(COURSE)/gradescope/settings
	@set -e; cd $(COURSE)/gradescope; $(CURDIR)/tools/course/tree.sh >warpbook.tar; \
	    gzip -9nf warpbook.tar; rm -f ../gradescope-$(COURSE_LAB).zip; \
	    $(PYTHON) -m zipfile -c ../gradescope-$(COURSE_LAB).zip *
	@echo "wrote $(COURSE)/gradescope-$(COURSE_LAB).zip"

autolab:  ## course: autograde-Makefile and autograde.tar for Autolab: make autolab LAB=03
	@$(one_lab) mkdir -p $(COURSE)/autolab-$(COURSE_LAB)
	@sed 's/@LAB@/$(COURSE_LAB)/; s/ *@LEADERBOARD@/$(addprefix \ ,$(leaderboard))/' \
	    tools/course/autograde-Makefile >$(COURSE)/autolab-$(COURSE_LAB)/autograde-Makefile
	@tar -cf $(COURSE)/autolab-$(COURSE_LAB)/autograde.tar -T /dev/null
	@echo "wrote $(COURSE)/autolab-$(COURSE_LAB)"

.PHONY: gradescope autolab
